// The page of a picture: sets of ranks, the tree of stacks, filters, and the table of processes.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  choices,
  classesWith,
  inOrder,
  isValid,
  NO_FILTER,
  shownRanks,
} from "../../../extension/observe/hangs/page/filters";
import {
  hasRank,
  intersection,
  joined,
  parsedRanks,
  ranksText,
  sizeOf,
} from "../../../extension/observe/hangs/page/rank_sets";
import {
  collectivesText,
  rankEntries,
  sortedEntries,
} from "../../../extension/observe/hangs/page/rank_table";
import {
  classFinder,
  membersOf,
  shownClasses,
  stackTree,
  treeRows,
  type TreeOptions,
} from "../../../extension/observe/hangs/page/stack_tree";
import {
  classLetter,
  culpritsText,
  functionText,
  gpusText,
  insideTexts,
  nativeTexts,
  kindText,
  membersText,
  placeText,
  rankText,
  readInsideText,
  unseenTexts,
} from "../../../extension/observe/hangs/page/texts";
import type { RankRow } from "../../../extension/observe/hangs/messages";
import { frame, largePicture, picture, process, stack, verdict } from "./pictures";

const OPEN: TreeOptions = { showsAll: false, closed: new Set() };

for (const [text, written] of [
  ["0-1,3", "0-1,3"],
  [" 3 , 0 - 1, 2", "0-3"],
  ["5,5,4-6", "4-6"],
  ["", ""],
] as const) {
  test(`the ranks “${text}” are written as “${written}”`, () => {
    assert.equal(ranksText(parsedRanks(text) ?? [], Infinity), written);
  });
}

for (const text of ["a", "1-", "-1", "3-1", "1.5", "1234567890"]) {
  test(`“${text}” names no ranks`, () => {
    assert.equal(parsedRanks(text), undefined);
  });
}

test("sets of ranks have what both have, a size, and their members", () => {
  const left = parsedRanks("0-4,8,10-12") ?? [];
  const right = parsedRanks("2,4-11") ?? [];
  assert.equal(ranksText(intersection(left, right)), "2,4,8,10-11");
  assert.equal(sizeOf(left), 9);
  assert.deepEqual(
    [0, 4, 5, 8, 9, 12, 13].filter((rank) => hasRank(left, rank)),
    [0, 4, 8, 12],
  );
  assert.equal(
    ranksText(
      joined([
        [3, 4],
        [0, 1],
        [2, 2],
      ]),
    ),
    "0-4",
  );
});

test("many intervals are written as the first and an ellipsis", () => {
  assert.equal(ranksText(parsedRanks("0,2,4,6") ?? [], 2), "0,2,…");
});

/** The rows of the tree, indented, with ranks and classes. */
function drawn(options = OPEN, classes = picture().classes): string[] {
  return treeRows(stackTree(shownClasses(classes)), options).map((row) => {
    const indent = "  ".repeat(row.level - 1);
    return row.row === "class"
      ? `${indent}${classLetter(row.shown.index)}: ${row.shown.entry.doing}`
      : `${indent}${row.classes ? `[${membersText(membersOf(row.classes), false)}] ` : ""}${functionText(row.frame)} ${placeText(row.frame)}`;
  });
}

test("the tree merges what stacks share, folds chains and hides wrappers", () => {
  assert.deepEqual(drawn(), [
    "[0-3] Trainer.fit train.py:40",
    "  [0,2] Trainer.reduce train.py:64",
    "  all_reduce distributed_c10d.py",
    "    A: collective",
    "  [1,3] Trainer.gather train.py:61",
    "  all_gather distributed_c10d.py",
    "    B: collective",
  ]);
});

test("all frames are shown on request", () => {
  assert.deepEqual(drawn({ ...OPEN, showsAll: true }).slice(0, 4), [
    "[0-3] _inject_tracing_into_class tracing_helper.py:461",
    "Trainer.fit train.py:40",
    "  [0,2] Trainer.reduce train.py:64",
    "  wrapper c10d_logger.py:83",
  ]);
});

test("a closed frame hides what is below it", () => {
  assert.deepEqual(drawn({ ...OPEN, closed: new Set(["0"]) }), ["[0-3] Trainer.fit train.py:40"]);
  assert.deepEqual(drawn({ ...OPEN, closed: new Set(["0.1"]) }).slice(-2), [
    "  [1,3] Trainer.gather train.py:61",
    "  all_gather distributed_c10d.py",
  ]);
});

test("the same frame has the same id whether wrappers are shown or not", () => {
  const ids = (showsAll: boolean): string[] =>
    treeRows(stackTree(shownClasses(picture().classes)), { ...OPEN, showsAll }).map(({ id }) => id);
  const all = new Set(ids(true));
  assert.equal(all.size, ids(true).length);
  assert.deepEqual(
    ids(false).filter((id) => !all.has(id)),
    [],
  );
});

test("a stack that ends within another one has a class of its own there", () => {
  const short = stack({ ranks: "7", frames: stack().frames.slice(0, 2), doing: "code" });
  assert.deepEqual(drawn(OPEN, [...picture().classes, short]).slice(0, 2), [
    "[0-3,7] Trainer.fit train.py:40",
    "  C: code",
  ]);
});

test("the stacks of a recursion at all depths are one deep branch", () => {
  const frames = Array.from({ length: 12_000 }, (_, line) => frame("walk", "/w/tree.py", line));
  const classes = Array.from({ length: 400 }, (_, at) =>
    stack({ ranks: `${at}`, frames: frames.slice(0, 30 * (at + 1)) }),
  );
  const rows = treeRows(stackTree(shownClasses(classes)), OPEN);
  assert.equal(rows.filter(({ row }) => row === "class").length, 400);
  assert.equal(rows.at(-1)?.level, 401);
});

test("equal stacks of several groups share the tree and keep their groups", () => {
  const classes = shownClasses([stack(), stack({ group: "other", ranks: "0" })]);
  const [first] = treeRows(stackTree(classes), OPEN);
  assert.ok(first?.row === "frame" && first.classes);
  assert.equal(membersText(membersOf(first.classes), true), "world 0,2; other 0");
});

test("the class of a process is found by its group and rank", () => {
  const find = classFinder(shownClasses(picture().classes));
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((rank) => find({ group: "world", rank })?.index),
    [0, 1, 0, 1, undefined],
  );
  assert.equal(find({ group: "other", rank: 0 }), undefined);
});

test("filters leave the processes that fit, and of each class only these", () => {
  const shown = picture();
  const classes = shownClasses(shown.classes);
  const threadOf = (): string => "MainThread";
  const left = (changes: Partial<typeof NO_FILTER>): string[] => {
    const rows = shownRanks(shown.ranks, { ...NO_FILTER, ...changes }, threadOf);
    return classesWith(classes, rows).map(({ ranks }) => ranksText(ranks));
  };
  assert.deepEqual(left({}), ["0,2", "1,3"]);
  assert.deepEqual(left({ ranks: "1-2" }), ["2", "1"]);
  assert.deepEqual(left({ node: "node-2" }), ["2", "3"]);
  assert.deepEqual(left({ ranks: "0", node: "node-2" }), []);
  assert.deepEqual(left({ role: "driver" }), []);
  assert.deepEqual(left({ thread: "Thread-2" }), []);
  assert.ok(!isValid({ ...NO_FILTER, ranks: "x" }));
});

test("filters offer the values of the picture in their order", () => {
  const ranks = [process(0, { node: "n10" }), process(1, { node: "n9", role: "driver" })];
  const { role, node, thread } = choices(picture({ ranks }));
  assert.deepEqual(inOrder(role), ["driver", "rank"]);
  assert.deepEqual(inOrder(node), ["n9", "n10"]);
  assert.deepEqual(inOrder(thread), ["MainThread"]);
});

test("processes are sorted by their counters and GPUs, then by rank", () => {
  const gpu = { number: 0, first: 0, memory_mib: 1 };
  const counter = { group: "pg", ended: 1, call: "all_reduce" };
  const rows = [5, 9, 5].map((value, rank) =>
    process(rank, {
      gpus: [{ ...gpu, last: value }],
      collectives: [{ ...counter, started: value }],
    }),
  );
  const entries = rankEntries([...rows, process(3)], verdict({ culprits: "" }));
  const order = (sort: "gpus" | "collectives", descending: boolean): number[] =>
    sortedEntries(entries, { sort, descending }, () => 0).map(({ row }) => row.rank);
  assert.deepEqual(order("gpus", true), [1, 0, 2, 3]);
  assert.deepEqual(order("collectives", false), [3, 0, 2, 1]);
});

test("culprits come first until a column is chosen", () => {
  const find = classFinder(shownClasses(picture().classes));
  const entries = rankEntries(picture().ranks, verdict());
  const classIndex = (row: RankRow): number => find(row)?.index ?? -1;
  const order = (sort: "" | "rank" | "class" | "call", descending = false): number[] =>
    sortedEntries(entries, { sort, descending }, classIndex).map(({ row }) => row.rank);
  assert.deepEqual(order(""), [1, 3, 0, 2]);
  assert.deepEqual(order("rank", true), [3, 2, 1, 0]);
  assert.deepEqual(order("class"), [0, 2, 1, 3]);
  assert.deepEqual(order("call", true), [0, 2, 1, 3]);
});

test("a rank of another group is not a culprit", () => {
  const [entry] = rankEntries([process(1, { group: "other" })], verdict());
  assert.equal(entry?.isCulprit, false);
  const cycle = verdict({ group: "Policy, Reward", culprits: "0" });
  const rows = ["Reward", "Policy", "driver"].map((each) => process(0, { group: each }));
  const marked = rankEntries(rows, cycle).map(({ isCulprit }) => isCulprit);
  assert.deepEqual(marked, [true, true, false]);
});

for (const [confidence, word] of [
  [0.9, "very likely (90 %)"],
  [0.75, "likely (75 %)"],
  [0.5, "no proof of a hang (50 %)"],
  [0.3, "unlikely (30 %)"],
] as const) {
  test(`a confidence of ${confidence} is “${word}”`, () => {
    assert.equal(kindText(verdict({ confidence })), `Different collectives · ${word}`);
  });
}

test("an unknown verdict has no confidence, and an unlisted kind its name", () => {
  assert.equal(kindText(verdict({ kind: "unknown", confidence: 0.2 })), "Unknown");
  assert.equal(kindText(verdict({ kind: "new\u202ekind" })), "new kind · very likely (90 %)");
});

test("what was not sampled is said once for each reason, and for each node", () => {
  const unseen = [3, 0, 1].map((rank) => ({ group: "world", rank, reason: "ended" }));
  const coverage = {
    processes: 1,
    unseen: [...unseen, { group: "world", rank: 7, reason: "permission" }],
    nodes: [
      { node: "node-3", reason: "timeout", detail: "" },
      { node: "node-4", reason: "failed", detail: "no room" },
    ],
    workers: "Policy.train",
    main_only: [5],
    resumed: [2, 3],
    samples: 3,
  };
  const loader = process(4711, { group: "data loader of rank 0", role: "data loader", pid: 4711 });
  coverage.unseen.push({ group: loader.group, rank: 4711, reason: "permission" });
  const taken = picture({ coverage, ranks: [process(7), loader] });
  assert.deepEqual(unseenTexts(taken), [
    "Workers other than Policy.train",
    "Rank 5: only the main thread was read",
    "Ranks 2-3: left stopped by py-spy, then resumed by SIGCONT",
    "Ranks 0-1,3: has ended",
    "Rank 7: reading it isn’t allowed",
    "data loader 4711: reading it isn’t allowed",
    "Node node-3: no answer in time",
    "Node node-4: no room",
  ]);
});

test("frames and processes are named on one line", () => {
  assert.equal(functionText(frame("f.<locals>.g.<locals>.step", "/a.py", 1)), "step");
  assert.equal(functionText(frame("a\nb\u202e", "/a.py", 1)), "a b");
  assert.equal(placeText(frame("f", "/a/b c.py", 0)), "b c.py");
  assert.equal(placeText(frame("f", "<frozen runpy>", 88)), "<frozen runpy>:88");
  assert.equal(rankText(process(3)), "3");
  assert.equal(rankText(process(3, { pid: 3 })), "");
  assert.deepEqual([0, 25, 26, 27, 701, 702].map(classLetter), ["A", "Z", "AA", "AB", "ZZ", "AAA"]);
});

test("a picture of 10,000 ranks in 300 classes has each rank in one class of the tree", () => {
  const large = largePicture(10_000, 300);
  const classes = shownClasses(large.classes);
  const [root] = stackTree(classes);
  assert.ok(root);
  assert.equal(root.classes.length, 300);
  assert.equal(
    classes.reduce((sum, { ranks }) => sum + sizeOf(ranks), 0),
    10_000,
  );
  const rows = treeRows([root], { showsAll: false, closed: new Set() });
  assert.equal(rows.filter(({ row }) => row === "class").length, 300);
});

test("what processes say of themselves are sentences with their frames", () => {
  const fit = frame("Trainer.fit", "/w/train.py", 88);
  const library = frame("Queue.get", "/s/asyncio/queues.py", 158, { users: false });
  const exception = { text: "ConnectionError()", first: "ValueError('shape 3')", variable: "" };
  const task = { state: "waits", count: 9, names: ["Task-2"], waits_for: "Future" };
  const told = picture({
    inside: [
      {
        group: "world",
        rank: 0,
        reason: "",
        exceptions: [
          { ...exception, frames: [fit] },
          { ...exception, first: "", variable: "last\nerror", frames: [] },
        ],
        awaits: [{ ...task, frames: [fit, library] }],
      },
      ...[5, 2, 6].map((rank) => ({
        group: "world",
        rank,
        reason: rank === 2 ? "gil-held" : "stopped",
        exceptions: [],
        awaits: [],
      })),
      { group: "Rollout", rank: 1, reason: "", exceptions: [], awaits: [{ ...task, frames: [] }] },
    ],
    ranks: [process(0), process(2), process(1, { group: "Rollout", role: "actor" })],
  });
  assert.deepEqual(insideTexts(told), [
    "Rank 0 handles ValueError('shape 3'): Trainer.fit (train.py:88)",
    "Rank 0 holds ConnectionError() in last error",
    "Rank 0: 9 tasks wait: Trainer.fit (train.py:88) > Queue.get (queues.py:158) > Future",
    "Rollout 1: 9 tasks wait: Future",
    "Not read: Ranks 5-6 (stopped)",
    "Not read: Rank 2 (native code holds the GIL)",
  ]);
});

test("culprits of several groups are named group by group", () => {
  const rows = ["Policy", "Reward", "driver"].flatMap((group) =>
    [0, 1].map((rank) => process(rank, { group })),
  );
  const cycle = verdict({ culprits: "0", group: "Policy, Reward" });
  const named = (changes: object, hasGroups = true): string =>
    culpritsText(picture({ ranks: rows, verdict: { ...cycle, ...changes } }), hasGroups);
  assert.equal(named({}), "Policy 0, Reward 0");
  assert.equal(named({ group: "Policy", culprits: "0-1" }), "Policy 0-1");
  assert.equal(named({ group: "Policy" }, false), "0");
  assert.equal(named({ culprits: "" }), "");
});

test("a GPU has its use at both samples, and the memory of the process", () => {
  const gpu = (first: number, last: number, memory_mib: number): string =>
    gpusText(process(0, { gpus: [{ number: 3, first, last, memory_mib }] }));
  assert.equal(gpu(97, 97, 62_464), "GPU 3 · 97 % · 61 GB");
  assert.equal(gpu(0, 97, 1536), "GPU 3 · 0 → 97 % · 1.5 GB");
  assert.equal(gpu(-1, -1, -1), "GPU 3");
  assert.equal(gpusText(process(0)), "");
});

test("collectives are counted by process group", () => {
  const collectives = [
    { group: "default_pg", started: 4, ended: 3, call: "all_reduce" },
    { group: "tp\n0", started: 9, ended: 9, call: "all_gather" },
  ];
  assert.equal(collectivesText(process(0, { collectives })), "default_pg 4/3, tp 0 9/9");
  assert.equal(collectivesText(process(0)), "");
});

test("native code of the representative is listed with the pause that reading it has cost", () => {
  const read = { group: "world", rank: 1, reason: "", thread: "MainThread", paused_s: 0.41 };
  const frames = [
    { function: "PyCFuncPtr_call", library: "_ctypes.so" },
    { function: "", library: "libreply.so" },
  ];
  const texts = (changes: object): string[] =>
    nativeTexts(picture({ native: [{ ...read, frames, resumed: false, ...changes }] }));
  const pause = "Rank 1 was paused for at most 0.4 s to read this";
  assert.deepEqual(texts({}), [
    "Rank 1 runs native code: PyCFuncPtr_call (_ctypes.so) > ? (libreply.so)",
    pause,
  ]);
  assert.deepEqual(texts({ frames: [] }), ["Rank 1 runs Python code", pause]);
  assert.deepEqual(texts({ frames: [], reason: "timeout", paused_s: 0 }), [
    `Rank 1: no native frames (no answer in time)`,
  ]);
});

test("what can be read from inside depends on the verdict, and then on what processes do", () => {
  const named = (kind: string, doing: string): string | undefined =>
    readInsideText(picture({ verdict: verdict({ kind }), ranks: [process(0, { doing })] }));
  assert.equal(named("cleanup-deadlock", "collective"), "readExceptions");
  assert.equal(named("unknown", "collective"), "readCounters");
  assert.equal(named("unknown", "ray.get"), "readTasks");
  assert.equal(named("wait-chain", "ray.get"), "readTasks");
  assert.equal(named("slow", "collective"), undefined);
});
