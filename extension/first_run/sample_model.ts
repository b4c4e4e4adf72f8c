/** The sample project: its files, and the line at which its workers pause. */

/** The driver, which is started, and the file of the workers. */
export const DRIVER = "train.py";
export const WORKER = "policy.py";

/** The line of `text`, from 0, with the loss of a step: each worker reaches it in each step. */
export function breakpointLine(text: string): number {
  const line = text.split("\n").findIndex((line) => /^\s+loss = /.test(line));
  return Math.max(line, 0);
}
