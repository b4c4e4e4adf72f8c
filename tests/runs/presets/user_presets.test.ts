// Presets as a list: one that was deleted can be had back.
import assert from "node:assert/strict";
import { test } from "node:test";

import { LIST } from "../../../extension/runs/messages";
import { DELETE_PRESET, LIST_PRESETS, SAVE_PRESET } from "../../../extension/runs/presets/messages";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach, registerRuns } from "../../fakes/registered";
import { editor } from "../../fakes/vscode";

const MINE = { name: "mine", title: "Mine", framework: "verl", own: true, text: '{"format": 1}' };

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
  editor.answersLists = false;
  fake.sidecar.on(LIST, () => ({ runs: [] }));
  fake.sidecar.on(LIST_PRESETS, () => ({ presets: [MINE] }));
  fake.sidecar.on(DELETE_PRESET, () => ({}));
  fake.sidecar.on(SAVE_PRESET, () => ({}));
});

async function deleted(): Promise<void> {
  const ran = editor.run("eagleray.presets");
  await settled();
  editor.picks[0]?.press("Mine", "Delete");
  await ran;
}

test("a preset that was deleted comes back with “Undo”", async () => {
  editor.answer = ({ buttons }) => buttons.find((button) => button === "Undo");
  await deleted();
  assert.match(editor.asked[0]?.text ?? "", /Removed preset “mine”/);
  const [saved] = fake.sidecar.sentTo(SAVE_PRESET) as { name: string; text: string }[];
  assert.deepEqual([saved?.name, saved?.text], ["mine", MINE.text]);
});

test("it stays deleted when the message is left alone", async () => {
  await deleted();
  assert.equal(fake.sidecar.sentTo(DELETE_PRESET).length, 1);
  assert.deepEqual(fake.sidecar.sentTo(SAVE_PRESET), []);
});
