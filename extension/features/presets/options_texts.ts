/** The texts of the options page, which the editor translates: the page itself knows no language. */

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { InterpreterFacts } from "../runs/messages";
import type { Change } from "./messages";
import type { Mistake } from "./options_model";

/** `{0}` is filled in by the page. */
export type PageTexts = ReturnType<typeof pageTexts>;

// The inferred type is the list of the texts.
// eslint-disable-next-line @typescript-eslint/explicit-function-return-type
export function pageTexts() {
  return {
    title: vscode.l10n.t("Run options"),
    titleOf: vscode.l10n.t("Run options: {0}"),
    fix: vscode.l10n.t("Changed by the Fix"),
    fixNote: vscode.l10n.t("Nothing has been started. Check the command below."),
    fixScript: vscode.l10n.t("The script must pass its arguments on."),
    notSet: vscode.l10n.t("not set"),
    changedTo: vscode.l10n.t("{0} → {1}"),
    undoFix: vscode.l10n.t("Undo Fix"),
    fixUndone: vscode.l10n.t("The fix was undone."),
    program: vscode.l10n.t("Program"),
    path: vscode.l10n.t("File or module"),
    kind: vscode.l10n.t("Run as"),
    args: vscode.l10n.t("Arguments"),
    argsHint: vscode.l10n.t("Quoted as in a shell. Variables and globs are not expanded."),
    command: vscode.l10n.t("Command"),
    cwd: vscode.l10n.t("Folder"),
    python: vscode.l10n.t("Python"),
    examiningPython: vscode.l10n.t("Checking…"),
    env: vscode.l10n.t("Environment variables"),
    envHint: vscode.l10n.t("One NAME=value per line."),
    cluster: vscode.l10n.t("Run on"),
    thisMachine: vscode.l10n.t("This machine"),
    watchMinutes: vscode.l10n.t("Save stacks after"),
    watchMinutesHint: vscode.l10n.t(
      "Minutes without output. Leave empty to save none. NCCL ends a collective after 10 minutes: use at most 5.",
    ),
    browse: vscode.l10n.t("Browse…"),
    browseFor: vscode.l10n.t("Browse for {0}"),
    breakpoints: vscode.l10n.t("Breakpoints"),
    noBreakpoints: vscode.l10n.t(
      "No breakpoints are set. Click in the editor's gutter to add one.",
    ),
    breakpointsCount: vscode.l10n.t("{0} set"),
    noneSet: vscode.l10n.t("none set"),
    showBreakpoints: vscode.l10n.t("Show Breakpoints"),
    breakIn: vscode.l10n.t("Break in"),
    breakInHint: vscode.l10n.t(
      "Class, actor or function names, e.g. *Policy*, train_*. Leave empty for all.",
    ),
    ranks: vscode.l10n.t("Ranks"),
    ranksHint: vscode.l10n.t("For example 0, 2-3. Leave empty for all."),
    allRanks: vscode.l10n.t("all"),
    allWorkers: vscode.l10n.t("all workers"),
    breakOnFailure: vscode.l10n.t("Break on uncaught exceptions"),
    children: vscode.l10n.t("Debug subprocesses"),
    notWhileRecording: vscode.l10n.t(
      "Breakpoints are off while recording: a pause would be measured.",
    ),
    shorten: vscode.l10n.t("Short test run"),
    shortenTick: vscode.l10n.t("Shorten this run"),
    shortenHint: vscode.l10n.t("A preset changes the arguments of the command, never your files."),
    preset: vscode.l10n.t("Preset"),
    autoPreset: vscode.l10n.t("Auto-detect framework"),
    ownPreset: vscode.l10n.t("{0} (yours)"),
    noPreset: vscode.l10n.t("No known framework was found. Nothing is shortened."),
    changesApply: vscode.l10n.t("{0} of {1} changes apply"),
    checkConfiguration: vscode.l10n.t("Check Configuration"),
    checkHint: vscode.l10n.t("Runs the imports of your program and starts nothing."),
    composed: vscode.l10n.t("Composed configuration"),
    composedEmpty: vscode.l10n.t("The configuration can be composed."),
    managePresets: vscode.l10n.t("Manage Presets…"),
    record: vscode.l10n.t("Profile"),
    recordTick: vscode.l10n.t("Record with Nsight Systems"),
    recordWorkers: vscode.l10n.t("Workers to record"),
    recordWorkersHint: vscode.l10n.t("Actor, class or module.class names, e.g. *Policy*, *vllm*."),
    classes: vscode.l10n.t("Known classes"),
    running: vscode.l10n.t("{0} running"),
    ofEarlierRun: vscode.l10n.t("seen before"),
    when: vscode.l10n.t("When"),
    steps: vscode.l10n.t("Steps"),
    stepsHint: vscode.l10n.t("3:5 records steps 3 and 4."),
    seconds: vscode.l10n.t("Seconds"),
    secondsFromStart: vscode.l10n.t("{0} s from the start"),
    secondsHint: vscode.l10n.t("From the start of each worker."),
    trace: vscode.l10n.t("Trace"),
    nsys: vscode.l10n.t("nsys on the nodes"),
    nsysHint: vscode.l10n.t("Leave empty to search for it."),
    nsysPath: vscode.l10n.t("Path of nsys"),
    nsysHere: vscode.l10n.t("Found on this machine: {0}"),
    nsysOptions: vscode.l10n.t("More nsys options"),
    nsysOptionsHint: vscode.l10n.t("For example --sample=none."),
    output: vscode.l10n.t("Report folder"),
    outputHint: vscode.l10n.t("Leave empty for eagleray-profiles."),
    commandSection: vscode.l10n.t("Command"),
    commandNote: vscode.l10n.t("Secrets are hidden."),
    changesNote: vscode.l10n.t("Secrets are hidden. Lines with + and - are changes."),
    spokenCommand: vscode.l10n.t("Command: {0}"),
    spokenChanges: vscode.l10n.t("Changed lines of the command: {0}"),
    lineLeftOut: vscode.l10n.t("1 unchanged line"),
    linesLeftOut: vscode.l10n.t("{0} unchanged lines"),
    showDiff: vscode.l10n.t("Open Diff"),
    submits: vscode.l10n.t("Start asks before it submits: {0}"),
    checking: vscode.l10n.t("Checking…"),
    noCommandYet: vscode.l10n.t("Fix the errors above to see the command."),
    checksSection: vscode.l10n.t("Checks before the run"),
    checksUnchecked: vscode.l10n.t("Not checked"),
    checksAllFine: vscode.l10n.t("All fine"),
    checksSingle: vscode.l10n.t("1 problem: {0}"),
    checksSeveral: vscode.l10n.t("{0} problems. The first: {1}"),
    checksFailed: vscode.l10n.t("Couldn't check: {0}"),
    checksOfSlurm: vscode.l10n.t("SLURM selects the nodes. Diagnose the job once it runs."),
    checksOfCluster: vscode.l10n.t(
      "The job runs on its cluster. Diagnose the cluster to check its nodes.",
    ),
    checksOfMachine: vscode.l10n.t(
      "Another machine runs it. Open a remote window there to check it.",
    ),
    runChecks: vscode.l10n.t("Check"),
    runChecksAgain: vscode.l10n.t("Check Again"),
    showChecks: vscode.l10n.t("Show Result"),
    start: vscode.l10n.t("Start"),
    saveLaunch: vscode.l10n.t("Save to launch.json"),
    savePreset: vscode.l10n.t("Save as Preset…"),
    startKey: vscode.l10n.t("Ctrl+Enter"),
    startKeyMac: vscode.l10n.t("⌘Enter"),
    singleProblem: vscode.l10n.t("1 problem: {0}"),
    problems: vscode.l10n.t("{0} problems. The first: {1}"),
    ready: vscode.l10n.t("Ready to start"),
    warning: vscode.l10n.t("Warning: {0}"),
    error: vscode.l10n.t("Error: {0}"),
    starting: vscode.l10n.t("Starting…"),
    waiting: vscode.l10n.t("Waiting for your answer: {0}"),
    untrusted: vscode.l10n.t("Trust this workspace to run programs."),
    manageTrust: vscode.l10n.t("Manage Workspace Trust"),
    added: vscode.l10n.t("Added line: {0}"),
    removed: vscode.l10n.t("Removed line: {0}"),
    kinds: {
      "": vscode.l10n.t("Auto-detect"),
      program: vscode.l10n.t("Python file"),
      module: vscode.l10n.t("Python module"),
      script: vscode.l10n.t("Shell script"),
      command: vscode.l10n.t("Command"),
      sbatch: vscode.l10n.t("SLURM batch script"),
      job: vscode.l10n.t("Ray job"),
      remote: vscode.l10n.t("Program on another machine"),
    },
    whens: {
      "on-demand": vscode.l10n.t("On demand, with Start Recording"),
      seconds: vscode.l10n.t("Some seconds from the start"),
      steps: vscode.l10n.t("Steps of the training"),
      always: vscode.l10n.t("From start to end"),
    },
    traces: {
      cuda: vscode.l10n.t("CUDA kernels, copies and calls; needs a GPU"),
      nvtx: vscode.l10n.t("Ranges that the program names"),
      osrt: vscode.l10n.t("Waiting calls of the operating system"),
      cudnn: vscode.l10n.t("Calls of cuDNN"),
      cublas: vscode.l10n.t("Calls of cuBLAS"),
      ucx: vscode.l10n.t("Calls of UCX"),
    } as Readonly<Record<string, string>>,
    mistakes: {
      openQuote: vscode.l10n.t("Unclosed quote"),
      noCommand: vscode.l10n.t("Enter a command."),
      noProgram: vscode.l10n.t("Enter a file or a module."),
      badRanks: vscode.l10n.t("Enter numbers or ranges, for example 0, 2-5."),
      badVariable: vscode.l10n.t("Enter NAME=value, one per line."),
      badMinutes: vscode.l10n.t("Enter a number of minutes."),
      noRecordWorkers: vscode.l10n.t("Choose the workers to record."),
      badSteps: vscode.l10n.t("Enter a step or a range, for example 3 or 3:5."),
      badSeconds: vscode.l10n.t("Enter a number of seconds."),
      noTrace: vscode.l10n.t("Select at least one."),
      badNsys: vscode.l10n.t("Enter a full path or a name."),
      badNsysOption: vscode.l10n.t("Enter options such as --sample=none."),
    } satisfies Record<Mistake, string>,
    outcomes: {
      "will apply": vscode.l10n.t("Applies"),
      "set, effect not verified": vscode.l10n.t("Set, effect not verified"),
      "already so": vscode.l10n.t("Already so"),
      "not changed": vscode.l10n.t("Not changed"),
      "no such option": vscode.l10n.t("Not available"),
      "unknown version": vscode.l10n.t("Unknown version"),
      "no framework": vscode.l10n.t("No framework"),
    } satisfies Record<Change["outcome"], string>,
  };
}

/** "3.11.7 · ray 2.60.0 ✓", beside the path of a Python. */
export function interpreterText({ version, ray }: InterpreterFacts): string {
  switch (ray) {
    case "":
      return vscode.l10n.t("{0} · no ray", plain(version));
    case "?":
      return vscode.l10n.t("{0} · ray ✓", plain(version));
    default:
      return vscode.l10n.t("{0} · ray {1} ✓", plain(version), plain(ray));
  }
}
