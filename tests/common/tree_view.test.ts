import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import type { RowTexts } from "../../extension/common/texts";
import { Selection } from "../../extension/panel";
import { type Row } from "../../extension/rows";
import { RowTree } from "../../extension/tree_view";
import { type TreeModel } from "../../extension/shown_rows";
import { editor } from "../fakes/vscode";

/** Any row; the tree doesn't read it. */
type ListedRow = Row & { readonly name: string; readonly text: string };

let listed: Record<string, readonly [name: string, text: string][]>;
let drawn: (string[] | "all")[];
let tree: RowTree<ListedRow>;

beforeEach(() => {
  editor.reset();
  listed = {
    "": [
      ["a", "runs"],
      ["b", "runs"],
    ],
    a: [
      ["a1", "waits"],
      ["a2", "waits"],
    ],
  };
  drawn = [];
  const texts = ({ name, text }: ListedRow): RowTexts => {
    const parts = { label: name, description: text, tooltip: "", spoken: "" };
    return { id: name, icon: "", context: "", children: "none", ...parts };
  };
  const model: TreeModel<ListedRow> = {
    children: (row) =>
      (listed[row?.name ?? ""] ?? []).map(([name, text]) => ({
        row: "loading",
        cluster: "",
        name,
        text,
      })),
    texts,
  };
  tree = new RowTree<ListedRow>("view", () => Promise.resolve(model), new Selection());
  tree.onDidChangeTreeData((rows) => drawn.push(rows?.map(({ name }) => name) ?? "all"));
});

/** All rows, as the editor asks for them. */
async function asked(): Promise<ListedRow[]> {
  const below = async (row?: ListedRow): Promise<ListedRow[]> => {
    const rows = await tree.getChildren(row);
    return [...rows, ...(await Promise.all(rows.map(below))).flat()];
  };
  return await below();
}

test("a row stays the same object with its new content, and only what changed is drawn again", async () => {
  const before = await asked();
  tree.redraw();
  assert.deepEqual(drawn, []);
  listed["a"] = [
    ["a1", "paused"],
    ["a2", "waits"],
  ];
  tree.redraw();
  assert.deepEqual(drawn, [["a1"]]);
  const after = await asked();
  assert.deepEqual(
    after.map(({ text }) => text),
    ["runs", "runs", "paused", "waits"],
  );
  assert.ok(after.every((row, index) => row === before[index]));
});

test("a list that changed is drawn again, and leaves the rows of others alone", async () => {
  const [a, b] = await asked();
  listed["a"] = [
    ["a2", "waits"],
    ["a3", "waits"],
  ];
  tree.redraw();
  assert.deepEqual(drawn, [["a"]]);
  assert.ok(a);
  assert.deepEqual(
    (await tree.getChildren(a)).map(({ name }) => name),
    ["a2", "a3"],
  );
  listed[""] = [["b", "ended"]];
  tree.redraw();
  assert.deepEqual(drawn, [["a"], "all"]);
  assert.deepEqual(await tree.getChildren(), [b]);
  assert.equal(b?.text, "ended");
});

test("rows below a row that the editor hasn't opened aren't drawn again", async () => {
  await tree.getChildren();
  listed["a"] = [["a1", "paused"]];
  listed["b"] = [["b1", "runs"]];
  tree.redraw();
  assert.deepEqual(drawn, []);
});
