import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { lazily, registerCommands } from "../../extension/commands";
import { COMMANDS } from "../../extension/contributions";
import type { Row } from "../../extension/rows";
import { fakeApp } from "../fakes/app";
import { editor } from "../fakes/vscode";
import { cluster } from "../debug/workers/samples";

beforeEach(() => {
  editor.reset();
});

test("what a command does is read at its first call, for the rows that were selected then", async () => {
  const { app } = fakeApp();
  const row = (id: string): Row => ({ row: "cluster", cluster: cluster({ id }) });
  const refreshed: (readonly Row[])[] = [];
  let reads = 0;
  const deeds = lazily(() => {
    reads += 1;
    app.selection.set([row("selected meanwhile")]);
    return Promise.resolve({ refresh: (rows: readonly Row[]) => refreshed.push(rows) });
  });
  registerCommands(app, deeds, [
    [COMMANDS.refresh, "refreshing", (to, rows) => Promise.resolve(to.refresh(rows))],
  ]);
  assert.equal(reads, 0);
  app.selection.set([row("selected")]);
  await editor.run(COMMANDS.refresh);
  await editor.run(COMMANDS.refresh);
  assert.deepEqual(refreshed, [[row("selected")], [row("selected meanwhile")]]);
  assert.equal(reads, 1);
});

test("a command of a row that is gone does nothing to the selected row, and says so", async () => {
  const { app } = fakeApp();
  const calls: (readonly Row[])[] = [];
  registerCommands(app, () => Promise.resolve(calls), [
    [COMMANDS.continue, "continuing", (to, rows) => to.push(rows)],
  ]);
  app.selection.set([{ row: "cluster", cluster: cluster({}) }]);
  await editor.run(COMMANDS.continue, undefined, undefined);
  assert.deepEqual(calls, []);
  assert.deepEqual(
    editor.asked.map(({ text }) => text),
    ["The list has changed. Nothing was done."],
  );
});

test("a command of a view's title runs without a row", async () => {
  const { app } = fakeApp();
  const calls: (readonly Row[])[] = [];
  registerCommands(app, () => Promise.resolve(calls), [
    [COMMANDS.manageSkipped, "managing", (to, rows) => to.push(rows)],
  ]);
  // As the menu “…” of a view calls it.
  await editor.run(COMMANDS.manageSkipped, undefined, undefined);
  assert.deepEqual(calls, [[]]);
  assert.deepEqual(editor.asked, []);
});

test("what cannot be read is an error of the command", async () => {
  const { app, log } = fakeApp();
  registerCommands(app, () => Promise.reject(new Error("no such file")), [
    [COMMANDS.refresh, "refreshing", () => Promise.resolve()],
  ]);
  await editor.run(COMMANDS.refresh);
  assert.equal(editor.asked[0]?.kind, "error");
  assert.match(log.text, /refreshing: internal: .*no such file/s);
});
