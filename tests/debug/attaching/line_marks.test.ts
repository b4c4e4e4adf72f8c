// The marks at stopped lines: which workers are paused there, and the links of their hover.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sameLines, stoppedLines } from "../../../extension/debug/attaching/stopped_lines";
import { settled } from "../../fakes/app";
import { editor, Uri } from "../../fakes/vscode";
import { pausedWorker, snapshotOf } from "../workers/samples";
import { Feature, worker } from "./feature";

const AT = { path: "/r/x.py", line: 3, function: "train", local: "/l/x.py" };

describe("the stopped lines of a file", () => {
  const ranks = [0, 1, 2, 9].map((rank) =>
    pausedWorker({ worker_id: `w${rank}`, name: `policy-${rank}`, rank, location: AT }),
  );
  const texts = (...args: Parameters<typeof stoppedLines>): string[] =>
    stoppedLines(...args).map(({ line, text }) => `${line} ${text}`);

  it("name the ranks that are paused there, by the local file", () => {
    assert.deepEqual(texts(snapshotOf(ranks), "/l/x.py", undefined), ["3 ← ranks 0-2, 9 paused"]);
    assert.deepEqual(texts(snapshotOf(ranks), "/r/x.py", undefined), []);
  });

  it("fall back to the worker's path where the local file is not known", () => {
    const [first] = ranks;
    assert.ok(first);
    const own = { ...first, location: { ...AT, local: "" } };
    assert.deepEqual(texts(snapshotOf([own]), "/r/x.py", undefined), ["3 ← rank 0 paused"]);
  });

  it("mark the worker in front, and those that are debugged beside it", () => {
    const [first, second, ...others] = ranks;
    assert.ok(first && second);
    const debugging = [first, second].map((one) => ({ ...one, state: "debugging" as const }));
    const all = snapshotOf([...debugging, ...others]);
    assert.deepEqual(texts(all, "/l/x.py", `${first.cluster} ${first.worker_id}`), [
      "3 ← rank 0 · debugging 1 · 2, 9 paused",
    ]);
  });

  it("name workers without a rank, many of them by their number", () => {
    const drivers = ["a", "b"].map((name) =>
      pausedWorker({ worker_id: name, name, rank: null, location: { ...AT, line: 1 } }),
    );
    assert.deepEqual(texts(snapshotOf(drivers), "/l/x.py", undefined), ["1 ← a, b paused"]);
    const many = [...drivers, ...drivers.map((one) => ({ ...one, name: `${one.name}2` }))];
    assert.deepEqual(texts(snapshotOf(many), "/l/x.py", undefined), ["1 ← 4 workers paused"]);
  });

  it("leave out workers on dead nodes, and sort by line", () => {
    const [first, second, third] = ranks;
    assert.ok(first && second && third);
    const list = [
      { ...first, location: { ...AT, line: 9 } },
      { ...second, state: "gone" as const },
      third,
    ];
    assert.deepEqual(texts(snapshotOf(list), "/l/x.py", undefined), [
      "3 ← rank 2 paused",
      "9 ← rank 0 paused",
    ]);
  });

  it("are the same for the same workers at the same lines", () => {
    const lines = stoppedLines(snapshotOf(ranks), "/l/x.py", undefined);
    const later = ranks.map((one) => ({ ...one, waiting_s: 99 }));
    assert.ok(sameLines(lines, stoppedLines(snapshotOf(later), "/l/x.py", undefined)));
    assert.ok(!sameLines(lines, stoppedLines(snapshotOf(ranks.slice(1)), "/l/x.py", undefined)));
  });
});

interface Drawn {
  readonly hoverMessage: { readonly value: string; readonly isTrusted: unknown };
  readonly renderOptions: { readonly after: { readonly contentText: string } };
}

describe("the marks at stopped lines", () => {
  const feature = new Feature();

  it("are drawn in every visible editor, once for each change, with links that only attach and continue", async () => {
    const drawn: Drawn[][] = [];
    const document = {
      uri: Uri.file("/l/x.py"),
      lineCount: 5,
      lineAt: () => ({ range: { end: { line: 2, character: 7 } } }),
    };
    const setDecorations = (_: unknown, all: Drawn[]): void => void drawn.push(all);
    editor.visible = [{ document, setDecorations }];
    const hostile = worker("a)", { rank: 1, name: "p [x](command:y)", location: AT });
    await feature.show(hostile);
    await settled();
    await feature.show({ ...hostile, waiting_s: 7 });
    await settled();
    const marks = drawn.flat();
    assert.deepEqual(
      marks.map(({ renderOptions }) => renderOptions.after.contentText),
      ["← rank 1 paused"],
    );
    const [hover] = marks.map(({ hoverMessage }) => hoverMessage);
    assert.deepEqual(hover?.isTrusted, {
      enabledCommands: ["eagleray.attach", "eagleray.continue"],
    });
    const links = [...hover.value.matchAll(/\(command:([^?)]+)\?([^)]*)\)/g)];
    assert.deepEqual(
      links.map(([, command]) => command),
      ["eagleray.attach", "eagleray.continue"],
    );
    assert.deepEqual(JSON.parse(decodeURIComponent(links[0]?.[2] ?? "")), [
      { cluster: "http://c:1", worker: "a)" },
    ]);
  });
});
