// Errors that stem from a machine or a cluster lead to the doctor, errors of a row to the row's subject.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { EaglerayError, noCluster, someFailed } from "../../extension/common/errors";
import type { ErrorMessages } from "../../extension/error_messages";
import type { Row } from "../../extension/rows";
import { fakeApp, settled } from "../fakes/app";
import { editor } from "../fakes/vscode";

const ROW = { row: "cluster", id: "ssh://login" } as unknown as Row;

let errors: ErrorMessages;

beforeEach(() => {
  editor.reset();
  errors = fakeApp().app.errors;
  editor.answer = ({ buttons }) => buttons.find((title) => title === "Diagnose");
});

function failure(doctor: string): EaglerayError {
  return new EaglerayError("a-code", "It failed.", "", "", "", doctor);
}

async function executed(doctor: string, row?: Row): Promise<unknown[]> {
  await errors.shown("a test", () => Promise.reject(failure(doctor)), row);
  await settled();
  return editor.executed.map(({ command, args }) => [command, ...args]);
}

test("an error of a cluster leads to the row that the command was called on", async () => {
  assert.deepEqual(await executed("cluster", ROW), [["eagleray.diagnose", ROW]]);
});

test("an error of this machine leads to its checks, whatever the row", async () => {
  assert.deepEqual(await executed("machine", ROW), [["eagleray.diagnose", "machine"]]);
});

test("an error that says all itself has no button for the doctor", async () => {
  assert.deepEqual(await executed("", ROW), []);
  assert.deepEqual(editor.asked[0]?.buttons, ["Show Log"]);
});

test("an empty list of clusters leads to the checks of this machine", async () => {
  await errors.shown("a test", () => Promise.reject(noCluster()));
  await settled();
  assert.deepEqual(editor.executed.at(-1)?.args, ["machine"]);
});

test("one error for several workers leads where the first of them leads", () => {
  const several = [failure(""), new EaglerayError("b", "B.", "", "", "", "cluster")] as const;
  const joined = someFailed(
    [
      ["a", several[0]],
      ["b", several[1]],
    ],
    3,
  );
  assert.equal(joined.doctor, "cluster");
});
