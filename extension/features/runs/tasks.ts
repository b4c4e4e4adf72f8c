/** The tasks that a launch.json wants done before its run and after it. */

import * as vscode from "vscode";

import { EaglerayError } from "../../common/errors";

/** Resolves when it has ended well; the editor itself runs it only for configurations that become a session. */
export async function doTask(
  name: string,
  attribute: "preLaunchTask" | "postDebugTask",
): Promise<void> {
  const tasks = await vscode.tasks.fetchTasks();
  const task = tasks.find((one) => one.name === name || `${one.source}: ${one.name}` === name);
  if (task === undefined) {
    throw new EaglerayError(
      "no-task",
      `There is no task “${name}”, which the configuration wants done.`,
      `Look at “${attribute}” in launch.json, and at tasks.json.`,
    );
  }
  const code = await ended(task);
  if (code !== 0) {
    const then = attribute === "preLaunchTask" ? "nothing was started" : "the run is over";
    throw new EaglerayError(
      "task-failed",
      `The task “${name}” ended with code ${code ?? "unknown"}; ${then}.`,
      "Its terminal says why.",
    );
  }
}

async function ended(task: vscode.Task): Promise<number | undefined> {
  const ends: { readonly execution: vscode.TaskExecution; readonly code: number | undefined }[] =
    [];
  let check: () => void = () => undefined;
  const listening = vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
    ends.push({ execution, code: exitCode });
    check();
  });
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
