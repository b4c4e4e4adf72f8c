/** The task that a launch.json wants done after its run. */

import * as vscode from "vscode";

import { EaglerayError } from "../../common/errors";

/**
 * Resolves when it has ended well.  The editor itself runs a `postDebugTask` only after a session, which a run is
 * not; a `preLaunchTask` it runs before it asks us, so that one is none of our business.
 */
export async function doPostDebugTask(name: string): Promise<void> {
  const tasks = await vscode.tasks.fetchTasks();
  const task = tasks.find((one) => one.name === name || `${one.source}: ${one.name}` === name);
  if (task === undefined) {
    throw new EaglerayError(
      "no-task",
      `There is no task “${name}”, which the configuration wants done.`,
      "Look at “postDebugTask” in launch.json, and at tasks.json.",
    );
  }
  const code = await ended(task);
  if (code !== 0) {
    throw new EaglerayError(
      "task-failed",
      `The task “${name}” ended with code ${code ?? "unknown"}; the run is over.`,
      "Its terminal says why.",
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
  // The end of a task is told after that of its process.
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
        const own = ends.find((one) => one.execution === execution);
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
