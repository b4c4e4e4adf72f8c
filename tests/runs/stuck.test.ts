// The message of the window when a run prints nothing and a picture was saved.
import assert from "node:assert/strict";
import { test } from "node:test";

import { RecordingTimes } from "../../extension/runs/recording_times";
import { runsTexts, startTime } from "../../extension/runs/rows";
import { CHANGED, type Run } from "../../extension/runs/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { editor, Uri } from "../fakes/vscode";
import { clustersOf } from "../debug/workers/samples";
import { aRun, FOLDER } from "./samples";

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
});

const SENTENCE = "Rank 2 does not move in load_checkpoint (trainer.py:68).";
const LATER_S = Date.now() / 1000 + 60;

function stuckRun(changes: Partial<NonNullable<Run["picture"]>> = {}): Run {
  const path = "/h/runs/0123456789ab/pictures/20261123-120300.json";
  const kind = "straggler";
  return aRun({
    picture: { path, taken_at: LATER_S, kind, sentence: SENTENCE, is_stuck: true, ...changes },
  });
}

async function list(...runs: Run[]): Promise<void> {
  fake.sidecar.notify(CHANGED, { runs });
  await settled();
  await settled();
}

test("a run that prints nothing has one message for each picture", async () => {
  await list(aRun());
  await list(stuckRun());
  await list(stuckRun());
  assert.deepEqual(
    editor.asked.map(({ text, buttons }) => [text, buttons]),
    [[`train.py prints nothing: ${SENTENCE}`, ["Open Picture", "Show Output"]]],
  );
  await list(stuckRun({ path: "/h/later.json" }));
  assert.equal(editor.asked.length, 2);
});

test("an old picture, and one of a run that prints again, have no message", async () => {
  await list(stuckRun({ taken_at: 1000 }));
  await list(stuckRun({ is_stuck: false }));
  await list({ ...stuckRun(), workspace: "/elsewhere" });
  assert.deepEqual(editor.asked, []);
});

for (const [button, command] of [
  ["Open Picture", "eagleray.openPicture"],
  ["Show Output", "eagleray.showOutput"],
] as const) {
  test(`“${button}” of the message runs ${command} for that run`, async () => {
    editor.answer = () => button;
    await list(stuckRun());
    assert.equal(editor.executed.at(-1)?.command, command);
    assert.deepEqual(editor.executed.at(-1)?.args, [{ row: "run", run: stuckRun() }]);
  });
}

test("the row of a stuck run says so until it prints again", () => {
  const textsOf = (run: Run): ReturnType<typeof runsTexts> =>
    runsTexts(
      {
        runs: { runs: [run] },
        servers: [],
        clusters: clustersOf([]),
        profiled: { runs: [] },
        recordings: new RecordingTimes(),
        now_s: LATER_S,
      },
      { row: "run", run },
    );
  const time = startTime(LATER_S, LATER_S);
  const stuck = textsOf(stuckRun());
  assert.match(stuck.description, new RegExp(`^Stuck\\? Picture of ${time} · running`));
  assert.ok(stuck.tooltip.includes(`Picture of ${time}: ${SENTENCE}`));
  assert.match(stuck.spoken, /Stuck\? Picture of/);
  const again = textsOf(stuckRun({ is_stuck: false }));
  assert.match(again.description, /^running/);
  assert.ok(again.tooltip.includes(SENTENCE));
});
