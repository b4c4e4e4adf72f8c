// Who is told that the reports of a run are here.
import assert from "node:assert/strict";
import { test } from "node:test";

import { register } from "../../extension/features/profiling";
import { CHANGED } from "../../extension/features/profiling/messages";
import { LIST } from "../../extension/features/runs/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach } from "../fakes/registered";
import { editor, Uri } from "../fakes/vscode";
import { aRun, FOLDER } from "../runs/samples";
import { profiledRun } from "./samples";

let fake: FakeApp;

registeredForEach(register, (made) => {
  fake = made;
});

/** What is said when the reports of a run that was started in `workspace` have come. */
async function told(workspace: string): Promise<readonly string[]> {
  const { run } = profiledRun();
  fake.sidecar.on(LIST, () => ({ runs: [aRun({ id: run, workspace })] }));
  fake.sidecar.notify(CHANGED, { runs: [profiledRun({ state: "gathering" })] });
  await settled();
  const done = profiledRun({ state: "gathered", gathered: 2, expected: 2 });
  fake.sidecar.notify(CHANGED, { runs: [done] });
  await settled();
  return editor.asked.map(({ text }) => text);
}

const WINDOWS: readonly (readonly [string, string, string, boolean])[] = [
  ["the window that started it", FOLDER, FOLDER, true],
  ["another window", FOLDER, "/elsewhere", false],
  ["a window without a folder that started it", "", "window 5e55", true],
  ["every window, of a run of a terminal", FOLDER, "", true],
];

for (const [who, folder, workspace, isTold] of WINDOWS) {
  test(`${isTold ? "told" : "not told"}: ${who}`, async () => {
    editor.folders = folder === "" ? [] : [{ uri: Uri.file(folder), name: "project", index: 0 }];
    assert.deepEqual(await told(workspace), isTold ? ["Downloaded 2 reports."] : []);
  });
}
