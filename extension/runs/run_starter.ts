/** Starts a run: prepares the draft, confirms where needed, starts it, and shows its output. */

import * as vscode from "vscode";

import type { App } from "../app";
import { lines, plain } from "../common/texts";
import { isConfirmed, longWork } from "../dialogs";
import { setting } from "../settings";
import type { RequestOptions } from "../sidecar/sidecar";
import { windowName } from "../workspace";
import {
  CHECK,
  COMPOSE,
  PREPARE,
  type Composition,
  type OptionsCheck,
  type Proposal,
} from "./presets/messages";
import { gutterBreakpoints } from "./gutter_breakpoints";
import { prepareOf, runsHere, type Draft } from "./draft";
import { RESTART, START, STOP, type Run, type RunRef, type RunRequest } from "./messages";
import type { RunOutput } from "./output";
import { programPython } from "./interpreters";
import { keepRun, optionsOfRun } from "./last_options";
import { NO_NSYS, withNsys, type StartEvents } from "./nsys_question";
import { PYTHON_ERRORS, withRay, type PythonChoice } from "./python_question";
import { isOfThisWindow, untilStopped } from "./run_list";
import { isLive } from "./states";

const SUBMIT = vscode.l10n.t("Submit");

/** How a run is started: its options, which belong to `file`. */
interface Started {
  readonly draft: Draft;
  readonly file: string;
}

export class RunStarter {
  /** The ids of started runs are added to `started`. */
  constructor(
    private readonly app: App,
    private readonly output: RunOutput,
    private readonly started: Set<string>,
  ) {}

  /** The proposal for a draft, with the breakpoints of the gutter. */
  async prepare(draft: Draft): Promise<Proposal> {
    const request = await this.prepareRequest(draft);
    return await longWork(vscode.l10n.t("Preparing the run"), (options) =>
      this.app.sidecar.request(PREPARE, request, options),
    );
  }

  /** The problems of a draft, and what it would start; saves no file. */
  async check(draft: Draft, options: RequestOptions): Promise<OptionsCheck> {
    return await this.app.sidecar.request(CHECK, await this.requestFor(draft), options);
  }

  /** Composes the configuration of the run with the Python of the program, which runs its imports. */
  async compose(draft: Draft): Promise<Composition> {
    const request = await this.prepareRequest(draft);
    return await longWork(vscode.l10n.t("Checking the configuration"), (options) =>
      this.app.sidecar.request(COMPOSE, request, options),
    );
  }

  /** Prepares and starts; the id of the run, or undefined when the user declines. */
  async run(draft: Draft, file = draft.path, events?: StartEvents): Promise<string | undefined> {
    return await this.start(await this.prepare(draft), draft, file, events);
  }

  /** `proposal` is the one for `draft`, whose options belong to `file`. */
  async start(
    proposal: Proposal,
    draft: Draft,
    file: string,
    events?: StartEvents,
  ): Promise<string | undefined> {
    const chosen = await withNsys(proposal, draft, events);
    if (chosen !== draft) {
      return chosen && (await this.run(chosen, file, events));
    }
    const { plan, name, confirm, title } = proposal;
    if (confirm !== "" && !(await isSubmitted(name, confirm, events))) {
      return undefined;
    }
    const start = (choice: PythonChoice): Promise<RunRef> =>
      longWork(vscode.l10n.t("Starting {0}", plain(title)), (options) => {
        const request = { plan, ...choice, confirmed: confirm !== "" };
        return this.app.sidecar.request(START, request, options);
      });
    const started = await withRay(this.app, draft, start, events);
    if (started !== undefined) {
      this.warn(proposal);
      await keepRun(this.app, started.id, file, draft);
      await this.show(started.id);
    }
    return started?.id;
  }

  /** Starts the command of a run again; a live run is stopped first, after a question where needed. */
  async restart(run: Run): Promise<string | undefined> {
    const before = await askBeforeRestart(run);
    if (before === undefined) {
      return undefined;
    }
    const recorded = await this.recordedAgain(run);
    if (recorded === undefined) {
      return undefined;
    }
    const submits = run.kind === "sbatch";
    if (
      submits &&
      !(await isConfirmed(
        vscode.l10n.t("Submit {0} to SLURM again?", plain(run.name)),
        run.command,
        SUBMIT,
      ))
    ) {
      return undefined;
    }
    if (before === "stop") {
      await this.stopFirst(run);
    }
    if (recorded !== "as before") {
      return await this.run(recorded.draft, recorded.file);
    }
    await vscode.workspace.saveAll(false);
    const breakpoints = isOfThisWindow(run) ? gutterBreakpoints() : null;
    const confirmed = submits || run.confirm_stop !== "";
    const chosen = this.app.serverVariables.value;
    // Without a chosen server the run keeps the address that it had: a server that restarts has it again.
    const server_env = Object.keys(chosen).length === 0 ? null : chosen;
    const request = { id: run.id, breakpoints, confirmed, server_env };
    const place = { path: "", cwd: run.cwd };
    const started = await withRay(this.app, place, (choice) =>
      longWork(vscode.l10n.t("Starting {0}", plain(run.name)), (options) =>
        this.app.sidecar.request(RESTART, { ...request, ...choice }, options),
      ),
    );
    if (started !== undefined) {
      const options = optionsOfRun(this.app, run.id);
      if (options !== undefined) {
        await keepRun(this.app, started.id, options.file, options.draft);
      }
      await this.show(started.id);
    }
    return started?.id;
  }

  /** Other options for a run that records, if this machine has no nsys; undefined when the user cancels. */
  private async recordedAgain(run: Run): Promise<Started | "as before" | undefined> {
    const before = optionsOfRun(this.app, run.id);
    if (before === undefined || before.draft.profile === null) {
      return "as before";
    }
    const { draft, file } = before;
    const chosen = await withNsys(await this.prepare(draft), draft);
    return chosen === draft ? "as before" : chosen && { draft: chosen, file };
  }

  /** Two runs of one program would compete for its GPUs, ports and folders. */
  private async stopFirst(run: Run): Promise<void> {
    const confirmed = run.confirm_stop !== "";
    await longWork(vscode.l10n.t("Stopping {0}", plain(run.name)), async (options) => {
      await this.app.sidecar.request(STOP, { id: run.id, confirmed }, options);
      await untilStopped(this.app, run.id, options.cancel);
    });
  }

  /** Makes a started run one of this window: its stops come to the front, and its output is shown. */
  async show(id: string): Promise<void> {
    this.started.add(id);
    if (setting("runs.showOutput")) {
      await this.output.show(id, true);
    }
  }

  private async prepareRequest(draft: Draft): Promise<RunRequest> {
    // The sidecar reads the program and the lines of breakpoints from the saved files.
    await vscode.workspace.saveAll(false);
    return await this.requestFor(draft);
  }

  private async requestFor(draft: Draft): Promise<RunRequest> {
    const python = draft.python || (await programPython(this.app, draft)).path;
    // No draft contains them: the editor writes drafts to its disk, and one is a key.
    const serverEnv = runsHere(draft) ? this.app.serverVariables.value : null;
    return prepareOf({ ...draft, python }, windowName(), gutterBreakpoints(), serverEnv);
  }

  /** Problems with breakpoints don't prevent a start. */
  private warn({ problems }: Proposal): void {
    const others = problems.filter(({ code }) => !PYTHON_ERRORS.includes(code) && code !== NO_NSYS);
    for (const { code, message, next_step } of others) {
      this.app.log.warn(`the run: ${code}: ${message} ${next_step}`);
    }
    const [first] = others;
    if (first !== undefined) {
      const sentence = `${first.message} ${first.next_step}`.trim();
      void this.showProblem(
        others.length === 1
          ? sentence
          : vscode.l10n.t("{0} problems. The first: {1}", others.length, sentence),
      );
    }
  }

  private async showProblem(sentence: string): Promise<void> {
    const showLog = vscode.l10n.t("Show Log");
    if ((await vscode.window.showWarningMessage(plain(sentence, 600), showLog)) === showLog) {
      this.app.log.show();
    }
  }
}

/** Whether the user agrees to submit a script with this command. */
async function isSubmitted(name: string, command: string, events?: StartEvents): Promise<boolean> {
  const question = vscode.l10n.t("Submit {0} to SLURM?", name);
  events?.asking(plain(question));
  try {
    return await isConfirmed(question, command, SUBMIT);
  } finally {
    events?.asking("");
  }
}

const STOP_FIRST = vscode.l10n.t("Stop and Restart");
const START_ANOTHER = vscode.l10n.t("Start Another");

function restartQuestion(run: Run): string {
  return vscode.l10n.t("Restart {0}?", plain(run.name));
}

/**
 * The action on a run before its command is started again:
 *
 * 1. Nothing for a run that is over.
 * 2. A run without a supervisor may still be running: the user chooses to stop it or to start beside it.
 * 3. A live run is stopped, after a confirmation where stopping needs one.
 *
 * Undefined when the user cancels.
 */
async function askBeforeRestart(run: Run): Promise<"stop" | "nothing" | undefined> {
  if (!isLive(run)) {
    return "nothing";
  }
  if (run.state === "unwatched") {
    const options = { modal: true, detail: lines(run.note, run.confirm_stop) };
    const question = vscode.l10n.t("{0} may still be running. Stop it first?", plain(run.name));
    const buttons = [STOP_FIRST, START_ANOTHER] as const;
    const choice = await vscode.window.showWarningMessage(question, options, ...buttons);
    if (choice === undefined) {
      return undefined;
    }
    return choice === STOP_FIRST ? "stop" : "nothing";
  }
  const needsAnswer = run.confirm_stop !== "";
  return !needsAnswer ||
    (await isConfirmed(restartQuestion(run), run.confirm_stop, vscode.l10n.t("Restart")))
    ? "stop"
    : undefined;
}
