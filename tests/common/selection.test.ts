import assert from "node:assert/strict";
import { test } from "node:test";

import { type GroupRow } from "../../extension/debug/workers/rows";
import { pausedWorkersOf, workersOf } from "../../extension/rows";
import { Selection } from "../../extension/panel";
import { type Row } from "../../extension/rows";
import { pausedWorker } from "../debug/workers/samples";

const workers = ["a", "b", "c"].map((worker_id) => pausedWorker({ worker_id }));
const group: GroupRow = {
  row: "group",
  cluster: "http://c",
  title: "W.train",
  workers,
  post_mortem: false,
  waiting: "",
  sentence: "",
};
const rows = workers.map((worker): Row => ({ row: "worker", worker, group }));
const [a, b, c] = rows as [Row, Row, Row];

const CASES: readonly (readonly [string, readonly unknown[], readonly Row[], (readonly Row[])?])[] =
  [
    ["a row of a selection in the context menu", [a, [a, b]], [c], [a, b]],
    ["a row further down in the selection", [b, [a, b, c]], [c], [b, a, c]],
    ["a row outside the selection", [a, undefined], [c], [a]],
    ["a click", [a], [c], [a]],
    ["a key", [], [b, c], [b, c]],
    ["the palette with nothing selected", [], [], []],
    ["something else than a row", [{ cluster: "x" }], [c], [c]],
    ["a title button without a row", [undefined], [c], [c]],
    ["a title button with a row in focus", [a], [b, c], [a]],
    ["a file of the explorer", [{ path: "x.py" }, [{ path: "x.py" }]], [c], [c]],
    ["an inline button during a redraw", [undefined, undefined], [c]],
    ["a menu of several rows during a redraw", [undefined, [undefined, undefined]], [b, c]],
    ["a menu whose row is gone", [undefined, [b, c]], [b, c]],
    ["a menu of several rows of which another is gone", [a, [a, undefined]], [c]],
  ];

for (const [name, args, selected, expected] of CASES) {
  test(name, () => {
    const selection = new Selection();
    selection.set(selected);
    assert.deepEqual(selection.of(args), expected);
  });
}

/** A list as VS Code has it: `list.toggleSelection` selects the row with the focus, or deselects it. */
function listOf(
  selected: readonly Row[],
  focused: Row | undefined,
): { readonly selection: Selection; readonly toggle: () => Promise<void> } {
  const selection = new Selection();
  let rows = selected;
  selection.set(selected);
  const toggle = (): Promise<void> => {
    if (focused !== undefined) {
      rows = rows.includes(focused) ? rows.filter((row) => row !== focused) : [...rows, focused];
      selection.set(rows);
    }
    return Promise.resolve();
  };
  return { selection, toggle };
}

const FOCUS_CASES: readonly (readonly [string, readonly Row[], Row | undefined, readonly Row[]])[] =
  [
    ["the row with the focus, where another is selected", [a], b, [b]],
    ["the row with the focus, where nothing is selected", [], b, [b]],
    ["the row with the focus, where several others are selected", [a, b], c, [c]],
    ["the only selected row, which has the focus", [b], b, [b]],
    ["all selected rows, where one of them has the focus", [a, b, c], b, [b, a, c]],
    ["no row, where none has the focus", [a], undefined, []],
  ];

for (const [name, selected, focused, expected] of FOCUS_CASES) {
  test(`a key acts on ${name}`, async () => {
    const { selection, toggle } = listOf(selected, focused);
    assert.deepEqual(await selection.withFocus(toggle), expected);
    assert.deepEqual(new Set(selection.rows), new Set(selected));
  });
}

test("a key that is pressed twice acts on the row with the focus both times", async () => {
  const { selection, toggle } = listOf([a], b);
  const slow = async (): Promise<void> => {
    await new Promise(setImmediate);
    await toggle();
  };
  const pressed = [selection.withFocus(slow), selection.withFocus(slow)];
  assert.deepEqual(await Promise.all(pressed), [[b], [b]]);
});

test("a key works after one whose command has failed", async () => {
  const { selection, toggle } = listOf([a], b);
  const failing = (): Promise<void> => Promise.reject(new Error("no such command"));
  await assert.rejects(selection.withFocus(failing));
  assert.deepEqual(await selection.withFocus(toggle), [b]);
});

test("a key acts on no row while the view is being redrawn", async () => {
  const selection = new Selection();
  const states = [[a, b], [{ ...a }]];
  const toggle = (): Promise<void> => {
    selection.set(states.shift() ?? []);
    return Promise.resolve();
  };
  assert.equal(await selection.withFocus(toggle), undefined);
});

test("a group and one of its workers give each worker once", () => {
  assert.deepEqual(pausedWorkersOf([group, a]), workers);
  assert.deepEqual(pausedWorkersOf([{ row: "problem", cluster: "", problem: PROBLEM }]), []);
});

test("logs are had from rows of every kind of worker", () => {
  assert.deepEqual(
    workersOf([a, group]).map((worker) => worker.worker_id),
    ["a", "a", "b", "c"],
  );
});

const PROBLEM = { code: "x", message: "x", next_step: "", retries: false, output: "" };
