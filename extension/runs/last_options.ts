/** The options with which a file was started last, and the options of recent runs, kept for this workspace. */

import type { App } from "../app";
import { PLAIN, type Draft } from "./draft";

/** The keys of the workspace's state. */
const OF_FILES = "runs.options";
const OF_RUNS = "runs.drafts";
/** More than a workspace has programs, or a list shows runs. */
const MOST = 50;

/** A draft under the path of its file, or under the id of its run. */
interface StoredDraft {
  readonly key: string;
  readonly file: string;
  readonly draft: Draft;
}

/** The options that were last set for `file`. */
export function lastOptions(app: App, file: string): Draft | undefined {
  return storedDraft(app, OF_FILES, file)?.draft;
}

export async function keepOptions(app: App, file: string, draft: Draft): Promise<void> {
  await keep(app, OF_FILES, { key: file, file, draft });
}

/** How a run of this workspace was started; undefined for one of a terminal, and for an old one. */
export function optionsOfRun(app: App, run: string): StoredDraft | undefined {
  return storedDraft(app, OF_RUNS, run);
}

export async function keepRun(app: App, run: string, file: string, draft: Draft): Promise<void> {
  await keep(app, OF_RUNS, { key: run, file, draft });
}

function storedDraft(app: App, list: string, key: string): StoredDraft | undefined {
  const stored = all(app, list).find((stored) => stored.key === key);
  // An earlier version may have stored fewer fields.
  return stored && { ...stored, draft: { ...PLAIN, ...stored.draft } };
}

function all({ context }: App, list: string): readonly StoredDraft[] {
  return context.workspaceState.get<readonly StoredDraft[]>(list) ?? [];
}

async function keep(app: App, list: string, stored: StoredDraft): Promise<void> {
  const others = all(app, list).filter(({ key }) => key !== stored.key);
  await app.context.workspaceState.update(list, [stored, ...others].slice(0, MOST));
}
