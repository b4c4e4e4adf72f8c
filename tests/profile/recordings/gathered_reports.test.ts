// The user who is notified that the reports of a run have arrived.
import assert from "node:assert/strict";
import { test } from "node:test";

import { register } from "../../../extension/profile/recordings";
import { CHANGED } from "../../../extension/profile/recordings/messages";
import { PLAIN } from "../../../extension/runs/draft";
import { keepRun } from "../../../extension/runs/last_options";
import { LIST } from "../../../extension/runs/messages";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach } from "../../fakes/registered";
import { editor, Uri } from "../../fakes/vscode";
import { aRun, FOLDER } from "../../runs/samples";
import { profiledRun, profiledWorker } from "./samples";

let fake: FakeApp;

registeredForEach(register, (made) => {
  fake = made;
});

/** The messages when the reports of a run that was started in `workspace` have arrived. */
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

test("a run without nsys is named with the reason, and its options can be edited", async () => {
  const { run } = profiledRun();
  const sentence = "Node n1: there is no nsys; worker 'p' runs without nsys.";
  const workers = [profiledWorker({ state: "missing", sentence })];
  const started = aRun({ id: run, name: "train.py", workspace: "" });
  fake.sidecar.on(LIST, () => ({ runs: [started] }));
  await keepRun(fake.app, run, "/w/train.py", { ...PLAIN, path: "/w/train.py", cwd: "/w" });
  editor.answer = () => "Edit and Rerun…";
  fake.sidecar.notify(CHANGED, { runs: [profiledRun({ workers })] });
  await settled();
  fake.sidecar.notify(CHANGED, { runs: [profiledRun({ state: "gathered", workers })] });
  await settled();
  assert.deepEqual(
    editor.asked.map(({ kind, text, buttons }) => [kind, text, buttons]),
    [["warning", `train.py has no report. ${sentence}`, ["Edit and Rerun…"]]],
  );
  const args = [{ row: "run", run: started }];
  assert.deepEqual(editor.executed.at(-1), { command: "eagleray.editAndRerun", args });
});

test("a failed download is repeated by a button, as in the row of its run", async () => {
  const { run } = profiledRun();
  const started = aRun({ id: run, workspace: "" });
  fake.sidecar.on(LIST, () => ({ runs: [started] }));
  editor.answer = () => "Download Reports";
  fake.sidecar.notify(CHANGED, { runs: [profiledRun({ state: "gathering" })] });
  await settled();
  const failed = profiledRun({ state: "failed", sentence: "The disk is full." });
  fake.sidecar.notify(CHANGED, { runs: [failed] });
  await settled();
  const [asked] = editor.asked;
  assert.equal(asked?.text, "The reports were not downloaded: The disk is full.");
  assert.equal(asked.buttons[0], "Download Reports");
  const args = [{ row: "run", run: started }];
  assert.deepEqual(editor.executed.at(-1), { command: "eagleray.downloadReports", args });
});
