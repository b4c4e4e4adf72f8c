// “Open Trajectories…”: what the tab asks the sidecar for, follows, cancels and restores.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import { GROUP, ITEM, PAGE, STATISTICS } from "../../../extension/rollouts/messages";
import { NO_QUERY, type ToTrajectoryPage } from "../../../extension/rollouts/page_messages";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach, registerRollouts } from "../../fakes/registered";
import { editor, FakeWebviewPanel, Uri } from "../../fakes/vscode";
import { group, item, page, statistics } from "./items";

const OPEN = "eagleray.openTrajectories";
const PATH = "/w/rollout/12.jsonl";
const WHOLE = page({ complete: true, size: 2e6 });

let fake: FakeApp;

registeredForEach(registerRollouts, (made) => {
  fake = made;
  fake.sidecar.on(PAGE, () => WHOLE);
  fake.sidecar.on(ITEM, () => item());
  fake.sidecar.on(GROUP, () => group());
  fake.sidecar.on(STATISTICS, () => statistics());
});

async function opened(): Promise<FakeWebviewPanel> {
  await editor.run(OPEN, Uri.file(PATH), [Uri.file(PATH)]);
  const panel = editor.panels.at(-1);
  assert.ok(panel);
  await says(panel, { kind: "ready" });
  return panel;
}

async function says(panel: FakeWebviewPanel, message: object): Promise<void> {
  panel.webview.says(message);
  await settled();
}

function kinds(panel: FakeWebviewPanel): string[] {
  const posted = panel.webview.posted as ToTrajectoryPage[];
  return posted.map(({ kind }) => kind).filter((kind) => kind !== "loading" && kind !== "loaded");
}

function last<K extends ToTrajectoryPage["kind"]>(
  panel: FakeWebviewPanel,
  kind: K,
): Extract<ToTrajectoryPage, { kind: K }> {
  const posted = panel.webview.posted as ToTrajectoryPage[];
  const message = posted.findLast((one) => one.kind === kind);
  assert.ok(message, `no ${kind} in ${kinds(panel).join()}`);
  return message as Extract<ToTrajectoryPage, { kind: K }>;
}

test("a small dump is listed and summed up", async () => {
  const panel = await opened();
  assert.deepEqual([panel.title, last(panel, "dump").path], ["12.jsonl", PATH]);
  await says(panel, { kind: "query", query: NO_QUERY });
  assert.deepEqual(kinds(panel), ["dump", "rows", "statistics"]);
  assert.deepEqual(fake.sidecar.sentTo(PAGE), [{ ...NO_QUERY, path: PATH }]);
  assert.deepEqual(fake.sidecar.sentTo(STATISTICS), [{ path: PATH }]);
});

test("a large dump is counted, and summed up on a click only", async () => {
  fake.sidecar.on(PAGE, ({ limit }) => page({ complete: limit === 0 }));
  const panel = await opened();
  await says(panel, { kind: "query", query: NO_QUERY });
  assert.deepEqual(kinds(panel), ["dump", "rows", "counted"]);
  await says(panel, { kind: "sumUp" });
  assert.deepEqual(kinds(panel), ["dump", "rows", "counted", "statistics"]);
});

test("a trajectory and its group are shown", async () => {
  const panel = await opened();
  await says(panel, { kind: "item", item: 2 });
  await says(panel, { kind: "group", item: 2 });
  assert.deepEqual(kinds(panel), ["dump", "item", "group"]);
  assert.deepEqual(fake.sidecar.sentTo(GROUP), [{ path: PATH, item: 2 }]);
});

test("an error is shown in its part of the page", async () => {
  fake.sidecar.on(ITEM, () => {
    throw new EaglerayError("no-trajectory", "Trajectory 9 doesn't exist.", "Select another.");
  });
  const panel = await opened();
  await says(panel, { kind: "item", item: 9 });
  const { part, message, nextStep } = last(panel, "failed");
  assert.deepEqual(
    [part, message, nextStep],
    ["item", "Trajectory 9 doesn't exist.", "Select another."],
  );
});

test("a newer search cancels the one before, whose rows are dropped", async () => {
  const cancelled: string[] = [];
  const answers = new Map<string, (page: typeof WHOLE) => void>();
  fake.sidecar.on(PAGE, ({ search = "" }, { cancel }) => {
    cancel?.onCancellationRequested(() => cancelled.push(search));
    return new Promise((resolve) => answers.set(search, resolve)) as never;
  });
  const panel = await opened();
  await says(panel, { kind: "query", query: { ...NO_QUERY, search: "a" } });
  await says(panel, { kind: "query", query: { ...NO_QUERY, search: "ab" } });
  assert.deepEqual(cancelled, ["a"]);
  answers.get("a")?.(WHOLE);
  answers.get("ab")?.(WHOLE);
  await settled();
  assert.deepEqual(kinds(panel), ["dump", "rows", "statistics"]);
  assert.equal(last(panel, "rows").query.search, "ab");
});

test("closing the tab cancels what it waits for, and ends its watchers", async () => {
  let cancelled = 0;
  fake.sidecar.on(PAGE, (_, { cancel }) => {
    cancel?.onCancellationRequested(() => (cancelled += 1));
    return new Promise(() => undefined) as never;
  });
  const panel = await opened();
  await says(panel, { kind: "query", query: NO_QUERY });
  assert.equal(editor.watchers.length, 2);
  panel.close();
  assert.equal(cancelled, 1);
  assert.deepEqual(
    editor.watchers.map(({ disposed }) => disposed),
    [true, true],
  );
});

test("a file that grows is read again after a pause, once for many lines", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const panel = await opened();
    await says(panel, { kind: "query", query: NO_QUERY });
    for (let line = 0; line < 5; line += 1) {
      editor.watchers[0]?.changed.fire(Uri.file(PATH));
    }
    mock.timers.tick(10_000);
    await settled();
    assert.equal(fake.sidecar.sentTo(PAGE).length, 2);
    assert.deepEqual(kinds(panel), ["dump", "rows", "statistics", "rows", "statistics"]);
  } finally {
    mock.timers.reset();
  }
});

test("a dump that is open comes to the front", async () => {
  const panel = await opened();
  await editor.run(OPEN, Uri.file(PATH));
  assert.deepEqual([editor.panels.length, panel.revealed], [1, 1]);
});

/** Selects the row, then `path`, in a dialog that can select files or folders, but not both. */
function select(row: number, path: string, kinds: readonly [boolean, boolean]): void {
  editor.answer = ({ kind, options }) => {
    if (kind === "pick") {
      return (options["items"] as unknown[])[row];
    }
    assert.deepEqual([options["canSelectFiles"], options["canSelectFolders"]], kinds);
    return [Uri.file(path)];
  };
}

test("the palette asks for a file or folder", async () => {
  select(0, PATH, [true, false]);
  await editor.run(OPEN);
  select(1, "/w/rollout", [false, true]);
  await editor.run(OPEN);
  assert.deepEqual(
    editor.panels.map(({ title }) => title),
    ["12.jsonl", "rollout"],
  );
  editor.answer = () => undefined;
  await editor.run(OPEN);
  assert.equal(editor.panels.length, 2);
});

test("a reload of the window restores the tab, one without a path is closed", async () => {
  const serializer = editor.serializers.get("eagleray.trajectories");
  const restored = new FakeWebviewPanel();
  await serializer?.deserializeWebviewPanel(restored, { path: PATH });
  await says(restored, { kind: "ready" });
  assert.equal(last(restored, "dump").path, PATH);
  const broken = new FakeWebviewPanel();
  await serializer?.deserializeWebviewPanel(broken, { path: 7 });
  assert.equal(broken.isClosed, true);
});

test("a batch of the dump is saved on a click", async () => {
  const panel = await opened();
  await says(panel, { kind: "saveBatch" });
  assert.deepEqual(editor.executed.at(-1), {
    command: "eagleray.saveBatch",
    args: [Uri.file(PATH)],
  });
});
