/** Starts the run that launch.json describes; the options page shows a preset until the user has started with it. */

import { basename } from "node:path";
import * as vscode from "vscode";
import type { DebugConfiguration } from "vscode";

import type { App } from "../../app";
import { EaglerayError } from "../../common/errors";
import { DEBUG_TYPE } from "../../contributions";
import { setting } from "../../settings";
import { draftOf, NO_PRESET, type Draft } from "../draft";
import { lastOptions } from "../last_options";
import { draftOfLaunch } from "../launch_json";
import { untilOver } from "../run_list";
import type { RunStarter } from "../run_starter";
import { configurationOf } from "./options_drafts";
import { agreementOf } from "./review_model";
import type { OptionsPages } from "./options_page";

/** The key of the workspace's state under which the agreements are stored. */
const AGREED = "runs.agreed";
/** More than a workspace has configurations. */
const MAX_AGREEMENTS = 50;

export async function launch(
  app: App,
  starting: RunStarter,
  pages: OptionsPages,
  folder: string,
  config: DebugConfiguration,
): Promise<void> {
  const { workspaceState } = app.context;
  const draft = draftOfLaunch(
    { breakOnFailure: setting("runs.breakOnFailure"), ...config },
    folder,
  );
  const proposal = await starting.prepare(draft);
  const agreement = agreementOf(draft, proposal);
  const agreed = workspaceState.get<readonly string[]>(AGREED) ?? [];
  if (draft.preset === NO_PRESET || agreed.includes(agreement)) {
    doAfter(app, config, await starting.start(proposal, draft, draft.path));
    return;
  }
  pages.show(draft, draft.path, ["shorten"], async (run, started, shown) => {
    doAfter(app, config, run);
    // A draft that was changed in the page differs from the configuration at its next start.
    if (agreementOf(started, shown) === agreement) {
      const before = workspaceState.get<readonly string[]>(AGREED) ?? [];
      await workspaceState.update(AGREED, [agreement, ...before].slice(0, MAX_AGREEMENTS));
    }
  });
}

/**
 * The choices of “Select and Start Debugging” for the file in the editor: as “Debug on Ray” starts it, with its last
 * options, and without options if it has any.
 */
export function offered(app: App): DebugConfiguration[] {
  const plain = draftOf([]);
  if (plain === undefined) {
    return [];
  }
  const last = lastOptions(app, plain.path) ?? plain;
  const program = [basename(last.path), ...last.args].join(" ");
  const first = runOf(last, vscode.l10n.t("Debug {0} on Ray", program));
  const file = basename(plain.path);
  const bare = runOf(plain, vscode.l10n.t("Debug {0} on Ray, without options", file));
  const isSame = JSON.stringify(first) === JSON.stringify({ ...bare, name: first.name });
  return isSame ? [first] : [first, bare];
}

function runOf(draft: Draft, name: string): DebugConfiguration {
  return { ...configurationOf(draft, name), type: DEBUG_TYPE, request: "launch", name };
}

/** A window that is closed before the run is over does nothing more for it. */
function doAfter(app: App, config: DebugConfiguration, id: string | undefined): void {
  const name: unknown = config["postDebugTask"];
  if (id !== undefined && typeof name === "string") {
    void app.errors.shown("the task after a run", async () => {
      await app.latestRuns();
      await untilOver(app, id, undefined);
      await doPostDebugTask(name);
    });
  }
}

/**
 * Resolves when it has ended well.  The editor itself runs a `postDebugTask` only after a session, which a run is
 * not; a `preLaunchTask` it runs before it asks us, so that one is none of our business.
 */
async function doPostDebugTask(name: string): Promise<void> {
  const tasks = await vscode.tasks.fetchTasks();
  const task = tasks.find((task) => task.name === name || `${task.source}: ${task.name}` === name);
  if (task === undefined) {
    throw new EaglerayError(
      "no-task",
      vscode.l10n.t("tasks.json has no task “{0}”.", name),
      vscode.l10n.t("Correct “postDebugTask” in launch.json, or add the task to tasks.json."),
    );
  }
  const code = await ended(task);
  if (code !== 0) {
    throw new EaglerayError(
      "task-failed",
      vscode.l10n.t("The task “{0}” failed after the run (exit {1}).", name, code ?? "?"),
      vscode.l10n.t("Its terminal shows the reason."),
    );
  }
}

interface End {
  readonly execution: vscode.TaskExecution;
  readonly code: number | undefined;
}

/** The code of its process; 0 for one that has none of its own, such as a task that only names others. */
async function ended(task: vscode.Task): Promise<number | undefined> {
  const ends: End[] = [];
  let check: () => void = () => undefined;
  const take = (end: End): void => {
    ends.push(end);
    check();
  };
  // The end of a task is reported after the end of its process.
  const listening = vscode.Disposable.from(
    vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
      take({ execution, code: exitCode });
    }),
    vscode.tasks.onDidEndTask(({ execution }) => {
      take({ execution, code: 0 });
    }),
  );
  try {
    const execution = await vscode.tasks.executeTask(task);
    return await new Promise((resolve) => {
      check = () => {
        const own = ends.find((end) => end.execution === execution);
        if (own !== undefined) {
          resolve(own.code);
        }
      };
      check();
    });
  } finally {
    listening.dispose();
  }
}
