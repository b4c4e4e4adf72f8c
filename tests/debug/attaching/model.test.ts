/** Whom the editor attaches to, and what it says about it. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Row } from "../../../extension/rows";
import {
  currentRows,
  asksToStop,
  autoAttachChoice,
  failureSentence,
  pausedAgainSentence,
  skippedSentence,
  heldSentence,
  endsSession,
  targetKey,
  nextWaiting,
  isControllable,
  targetOf,
  waiting,
} from "../../../extension/debug/attaching/model";
import type { PausedWorker, Snapshot } from "../../../extension/debug/workers/messages";
import { pausedWorker } from "../workers/samples";

function worker(id: string, state: PausedWorker["state"], rank: number | null): PausedWorker {
  const cluster = "http://c:1";
  return pausedWorker({ cluster, worker_id: id, name: `name ${id}`, rank, state });
}

function snapshot(...workers: PausedWorker[]): Snapshot {
  const held = workers.filter((one) => one.state === "held").length;
  return {
    groups: [
      {
        cluster: "http://c:1",
        title: "Policy.train",
        workers,
        post_mortem: false,
        waiting: "",
        sentence: "",
      },
    ],
    stops: { paused: workers.length - held, held, debugging: 0 },
  };
}

const ids = (workers: readonly PausedWorker[]): string[] => workers.map((one) => one.worker_id);

describe("the next paused worker", () => {
  const all = snapshot(
    worker("a", "paused", 0),
    worker("b", "debugging", 1),
    worker("c", "held", 2),
    worker("d", "running", 3),
    worker("e", "paused", 4),
  );
  const last = (id: string): { cluster: string; worker: string } => ({
    cluster: "http://c:1",
    worker: id,
  });
  const cases: [string, string | undefined, string][] = [
    ["the first that waits, when none was attached to", undefined, "a"],
    ["the first below the last one", "a", "c"],
    ["past those that do not wait", "c", "e"],
    ["from the top again after the last", "e", "a"],
    ["the first, when the last one is gone", "gone", "a"],
  ];
  for (const [what, from, to] of cases) {
    it(`is ${what}`, () => {
      const before = from === undefined ? undefined : last(from);
      assert.equal(nextWaiting(all, before)?.worker_id, to);
    });
  }

  it("is none when none waits", () => {
    assert.equal(nextWaiting(snapshot(worker("b", "debugging", 1)), undefined), undefined);
  });

  it("is one of those that wait for a person", () => {
    assert.deepEqual(ids(waiting(all)), ["a", "c", "e"]);
  });

  it("is none that is held on another login node, which would stop the walk there", () => {
    const far = { ...worker("x", "held", 0), held_on: "login2" };
    const both = snapshot(far, worker("y", "paused", 1));
    assert.equal(nextWaiting(both, undefined)?.worker_id, "y");
    assert.equal(heldSentence(snapshot(far)), undefined);
  });
});

describe("what is done to a whole group", () => {
  it("is meant for those that stand, and from here", () => {
    const states = ["paused", "held", "debugging", "running", "gone"] as const;
    const workers = states.map((state) => worker(state, state, null));
    const far = { ...worker("far", "held", null), held_on: "login2" };
    assert.deepEqual(ids([...workers, far].filter(isControllable)), [
      "paused",
      "held",
      "debugging",
    ]);
  });

  it("is, for one that was selected long ago, meant for those that are listed now", () => {
    const [old, now] = [worker("old", "paused", 0), worker("now", "paused", 0)];
    const group = {
      row: "group" as const,
      cluster: "http://c:1",
      title: "Policy.train",
      post_mortem: false,
      waiting: "",
      sentence: "",
    };
    const rows: Row[] = [
      { ...group, workers: [old] },
      { ...group, title: "Gone.train", workers: [old] },
      { ...group, post_mortem: true, workers: [old] },
      { row: "worker", worker: old, group: { ...group, workers: [old] } },
      { row: "worker", worker: worker("now", "held", 0), group: { ...group, workers: [now] } },
    ];
    assert.deepEqual(currentRows(rows, snapshot(now)), [
      { ...group, workers: [now] },
      { row: "worker", worker: now, group: { ...group, workers: [now] } },
    ]);
  });
});

describe("attaching by itself", () => {
  const both = snapshot(worker("x", "paused", 1), worker("y", "paused", 0));
  const nothing = { sessions: 0, tried: new Set<string>(), taken: new Set<string>() };
  const x = new Set([targetKey(targetOf(worker("x", "paused", 1)))]);

  it("is off by default", () => {
    assert.equal(autoAttachChoice("off", both, nothing), undefined);
  });

  it("is off for every word that it does not know", () => {
    for (const word of ["", "never", "rank1"]) {
      assert.equal(autoAttachChoice(word as "off", both, nothing), undefined);
    }
  });

  it("takes the first, or rank 0", () => {
    assert.equal(autoAttachChoice("first", both, nothing)?.worker_id, "x");
    assert.equal(autoAttachChoice("rank0", both, nothing)?.worker_id, "y");
  });

  it("keeps the user at an open session", () => {
    assert.equal(autoAttachChoice("first", both, { ...nothing, sessions: 1 }), undefined);
  });

  it("does not come back to a worker that was left", () => {
    assert.equal(autoAttachChoice("first", both, { ...nothing, tried: x })?.worker_id, "y");
  });

  it("leaves alone what is held on purpose", () => {
    assert.equal(autoAttachChoice("first", snapshot(worker("x", "held", 0)), nothing), undefined);
  });

  it("takes none of a cluster in which another window is at work", () => {
    const attached = snapshot(worker("x", "debugging", 1), worker("y", "paused", 0));
    assert.equal(autoAttachChoice("first", attached, nothing), undefined);
    assert.equal(autoAttachChoice("rank0", both, { ...nothing, tried: x, taken: x }), undefined);
    const other = { ...worker("z", "paused", 2), cluster: "http://c:2" };
    const two = snapshot(worker("x", "debugging", 1), other);
    assert.equal(autoAttachChoice("first", two, nothing)?.worker_id, "z");
  });
});

describe("Stop", () => {
  const disconnect = (args: object): object => ({
    type: "request",
    command: "disconnect",
    arguments: args,
  });
  const cases: [string, object, boolean][] = [
    ["Stop", disconnect({ restart: false, terminateDebuggee: true }), true],
    ["Restart", disconnect({ restart: true, terminateDebuggee: true }), false],
    [
      "Disconnect",
      disconnect({ restart: false, terminateDebuggee: false, suspendDebuggee: false }),
      false,
    ],
    ["Disconnect and Suspend", disconnect({ restart: false, suspendDebuggee: true }), false],
    ["a reload", disconnect({ restart: false }), false],
    ["a disconnect with no arguments", { type: "request", command: "disconnect" }, false],
    ["another request", { type: "request", command: "continue", arguments: {} }, false],
  ];
  for (const [what, message, asks] of cases) {
    it(`${asks ? "asks after" : "does not ask after"} ${what}`, () => {
      assert.equal(asksToStop(message), asks);
    });
  }
});

describe("a session's end in order", () => {
  const cases: [string, object, boolean][] = [
    ["the editor's disconnect", { type: "request", command: "disconnect" }, true],
    ["the adapter's terminated", { type: "event", event: "terminated" }, true],
    ["an answer to disconnect", { type: "response", command: "disconnect" }, false],
    ["a stop", { type: "event", event: "stopped" }, false],
  ];
  for (const [what, message, ends] of cases) {
    it(`is ${ends ? "" : "not "}${what}`, () => {
      assert.equal(endsSession(message), ends);
    });
  }
});

describe("what is said", () => {
  const failure = {
    worker_id: "a",
    name: "p0",
    code: "worker-gone",
    message: "p0 has ended.",
    next_step: "Its log may say why.",
  };

  it("is nothing when nothing failed", () => {
    assert.equal(failureSentence({ done: 4, failures: [], ignored: [] }), undefined);
  });

  it("is the first failure, and how many more there are", () => {
    assert.equal(
      failureSentence({ done: 0, failures: [failure], ignored: [] }),
      "p0 has ended. Its log may say why.",
    );
    assert.equal(
      failureSentence({ done: 0, failures: [failure, failure, failure], ignored: [] }),
      "p0 has ended. Its log may say why. The same failed for 2 more workers. The log has their names.",
    );
  });

  it("reports workers that paused again at once", () => {
    const at = (id: string, line: number): PausedWorker => ({
      ...worker(id, "paused", 0),
      location: { path: "/r/policy.py", line, function: "f", local: "" },
    });
    const unknown = { ...worker("u", "paused", 1), location: null };
    const [first, second] = [at("a", 23), at("b", 23)];
    const cases: [PausedWorker[], string | undefined][] = [
      [[], undefined],
      [[first], "name a (rank 0) paused again at policy.py:23."],
      [[unknown], "name u (rank 1) paused again."],
      [[first, second], "Paused again: 2 workers at policy.py:23."],
      [[first, at("c", 30)], "Paused again: 2 workers."],
      [[first, unknown], "Paused again: 2 workers."],
    ];
    for (const [again, sentence] of cases) {
      assert.equal(pausedAgainSentence(again), sentence);
    }
  });

  it("confirms what is skipped, by the line of the call where it is known", () => {
    const rule = { cluster: "c", session: "s", path: "/r/policy.py", line: 24, listed_line: 23 };
    assert.equal(skippedSentence([]), undefined);
    assert.equal(skippedSentence([rule]), "Skipping policy.py:23 in all workers of this cluster.");
    const unlisted = { ...rule, listed_line: 0 };
    assert.equal(
      skippedSentence([unlisted]),
      "Skipping policy.py:24 in all workers of this cluster.",
    );
    assert.equal(skippedSentence([rule, unlisted]), "Skipping 2 lines in all workers.");
  });

  it("offers what is held, and only that", () => {
    assert.equal(heldSentence(snapshot(worker("a", "paused", 0))), undefined);
    assert.equal(
      heldSentence(snapshot(worker("a", "held", 0))),
      "name a (rank 0) still waits where you left it.",
    );
    assert.equal(
      heldSentence(snapshot(worker("a", "held", 0), worker("b", "held", 1))),
      "2 workers still wait where you left them.",
    );
  });
});
