// The views Paused Workers and Clusters, their badge, and the notification.
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { CHANGED as CLUSTERS_CHANGED, type Cluster } from "../../../extension/clusters/messages";
import {
  ALL,
  CHANGED,
  WATCH,
  type LiveNode,
  type LiveWorker,
  type PausedWorker,
} from "../../../extension/debug/workers/messages";
import { EaglerayError } from "../../../extension/common/errors";
import type { ClusterTreeRow } from "../../../extension/debug/workers/rows";
import type { RowTree } from "../../../extension/tree_view";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach, registerWorkers } from "../../fakes/registered";
import { editor, type FakeTreeView } from "../../fakes/vscode";
import { anyWorker, cluster, clustersOf, pausedWorker, route, snapshotOf } from "./samples";

let fake: FakeApp;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({
    apis: ["setTimeout", "setInterval", "Date"],
    now: new Date(2026, 10, 23, 14, 10).getTime(),
  });
});

registeredForEach(registerWorkers, (made) => {
  fake = made;
});

function view(name: string): FakeTreeView {
  const found = editor.views.get(`eagleray.${name}`);
  assert.ok(found);
  return found;
}

function rows(name: string): string[] {
  const { provider } = view(name);
  const lines = (children: readonly unknown[], indent: string): string[] =>
    children.flatMap((row) => {
      const item = provider.getTreeItem(row);
      const line = `${indent}${item.iconPath?.id}: ${item.label} | ${item.description}`;
      return [line, ...lines(provider.getChildren(row), `${indent}  `)];
    });
  return lines(provider.getChildren(), "");
}

function clusters(...list: Cluster[]): void {
  fake.sidecar.notify(CLUSTERS_CHANGED, clustersOf(list));
}

function paused(...workers: PausedWorker[]): void {
  fake.sidecar.notify(CHANGED, snapshotOf(workers));
}

test("a way to the listed workers that does not do well is said above them", () => {
  const sentence = "login does not answer; a new connection is being made.";
  paused(pausedWorker());
  clusters(cluster({ name: "train", route: route({ state: "degraded", sentence }) }));
  assert.equal(view("pausedWorkers").message, `train: ${sentence}`);
  clusters(cluster({ name: "train", route: route() }));
  assert.equal(view("pausedWorkers").message, "");
});

const AT = { path: "/app/policy.py", line: 42, function: "train", local: "" };

test("paused workers stand in groups, each with what is known of it", () => {
  clusters(cluster());
  paused(
    pausedWorker({ location: AT }),
    pausedWorker({ worker_id: "b", name: "w1", rank: null, state: "held", waiting_s: 200 }),
    pausedWorker({ worker_id: "c", name: "w2", rank: 2, state: "debugging" }),
  );
  assert.deepEqual(rows("pausedWorkers"), [
    "symbol-class: PolicyWorker.train | 3",
    "  debug-pause: policy_0 | policy.py:42 · 12 s",
    "  lock: w1 | held since 14:10",
    "  debug-alt: w2 | ",
  ]);
});

test("a group names the line at which all its workers are paused", () => {
  paused(pausedWorker({ location: AT }), pausedWorker({ worker_id: "b", location: AT }));
  assert.equal(rows("pausedWorkers")[0], "symbol-class: PolicyWorker.train | policy.py:42 · 2");
  paused(
    pausedWorker({ location: AT }),
    pausedWorker({ worker_id: "b", location: { ...AT, line: 43 } }),
  );
  assert.equal(rows("pausedWorkers")[0], "symbol-class: PolicyWorker.train | 2");
});

test("a group begins with the sentence that says who waits for its workers; a click opens the picture", () => {
  const waiting = "Ranks 0 and 2 wait for rank 1";
  const sentence = "Ranks 0 and 2 wait in all_reduce (train.py:91) for rank 1.";
  const snapshot = snapshotOf([pausedWorker({ location: AT })]);
  const groups = snapshot.groups.map((group) => ({ ...group, waiting, sentence }));
  fake.sidecar.notify(CHANGED, { ...snapshot, groups });
  assert.equal(rows("pausedWorkers")[1], `  question: ${waiting} | `);
  const { provider } = view("pausedWorkers");
  const [group] = provider.getChildren();
  const [row] = provider.getChildren(group);
  const item = provider.getTreeItem(row);
  assert.equal(item.tooltip, sentence);
  assert.equal(item.accessibilityInformation?.label, sentence);
  assert.deepEqual(item.command, {
    command: "eagleray.openPicture",
    title: "",
    arguments: [{ row: "sentence", group }],
  });
});

/** The item of the only listed worker. */
function workerItem(): ReturnType<FakeTreeView["provider"]["getTreeItem"]> {
  const { provider } = view("pausedWorkers");
  return provider.getTreeItem(provider.getChildren(provider.getChildren()[0])[0]);
}

test("a worker with an unknown start of its wait has no waiting time", () => {
  paused(pausedWorker({ waiting_s: null, location: AT }));
  assert.equal(rows("pausedWorkers")[1], "  debug-pause: policy_0 | ");
});

test("a long name gives way to the time that its worker waits, and drops a rank that it has itself", () => {
  const name = "WorkerDict_ActorRolloutRefWorker_0:3";
  paused(
    pausedWorker({ worker_id: "a", name, rank: 3, waiting_s: 7500, location: null }),
    pausedWorker({ worker_id: "b", name: "trainer-of-the-policy", rank: 12, waiting_s: 80 }),
  );
  assert.deepEqual(rows("pausedWorkers").slice(1), [
    "  debug-pause: WorkerDict_…fWorker_0:3 | 2 h 5 m",
    "  debug-pause: trainer…-policy | rank 12 · 1 m 20 s",
  ]);
  const { provider } = view("pausedWorkers");
  const [group] = provider.getChildren();
  const [row] = provider.getChildren(group);
  const item = provider.getTreeItem(row);
  assert.match(String(item.tooltip), /^WorkerDict_ActorRolloutRefWorker_0:3 \(rank 3\)/);
  assert.match(
    item.accessibilityInformation?.label ?? "",
    /^WorkerDict_ActorRolloutRefWorker_0:3, rank 3/,
  );
});

test("a failed worker without an exception says how to see it", () => {
  const failed = pausedWorker({ kind: "post-mortem", exception: "", location: null });
  paused(failed);
  assert.match(workerItem().tooltip ?? "", /^Failed. Click to see why.$/m);
  paused({ ...failed, exception: "ValueError: x" });
  assert.doesNotMatch(workerItem().tooltip ?? "", /Attach to/);
});

test("a failed worker shows its exception, and its group what all of them share", () => {
  const failed = {
    kind: "post-mortem",
    location: { ...AT, path: "/app/rewards.py", line: 9 },
  } as const;
  const workers = [
    pausedWorker({
      ...failed,
      worker_id: "e",
      name: "rollout-1",
      rank: 1,
      exception: "ValueError: no target for '2'",
      attempt: 1,
      children: [pausedWorker({ worker_id: "f", name: "child", rank: null, waiting_s: 3 })],
    }),
    pausedWorker({ ...failed, name: "rollout", rank: 2, exception: "ValueError", state: "held" }),
  ];
  fake.sidecar.notify(CHANGED, snapshotOf(workers, "Rollout.score", true));
  assert.deepEqual(rows("pausedWorkers"), [
    "error: Rollout.score | ValueError · rewards.py:9 · 2",
    "  error: rollout-1 | ValueError: no target for '2' · relays 1 error · attempt 2 · 12 s",
    "    debug-pause: child | 3 s",
    "  lock: rollout | held since 14:10 · rank 2 · ValueError",
  ]);
});

test("the node is in the rows of a group that has workers of several nodes", () => {
  paused(
    pausedWorker(),
    pausedWorker({ worker_id: "b", name: "w1", rank: 1, node_ip: "10.0.0.2" }),
  );
  assert.deepEqual(rows("pausedWorkers").slice(1), [
    "  debug-pause: policy_0 | 12 s · 10.0.0.1",
    "  debug-pause: w1 | 12 s · 10.0.0.2",
  ]);
});

test("workers of the same name and rank are told apart by their PIDs", () => {
  const twin = { name: "RayTrainWorker", rank: null };
  paused(
    pausedWorker(twin),
    pausedWorker({ ...twin, worker_id: "b", pid: 124 }),
    pausedWorker({ ...twin, worker_id: "c", rank: 1, pid: 125 }),
  );
  assert.deepEqual(rows("pausedWorkers").slice(1), [
    "  debug-pause: RayTrainWorker | PID 123 · 12 s",
    "  debug-pause: RayTrainWorker | PID 124 · 12 s",
    "  debug-pause: RayTrainWorker | rank 1 · 12 s",
  ]);
});

test("a worker that has been held since yesterday shows for how long", () => {
  paused(pausedWorker({ state: "held", held_s: 26 * 3600 }));
  assert.match(rows("pausedWorkers")[1] ?? "", /held for 1 d 2 h$/);
});

test("a row says all of it to a screen reader, attaches on click, and has the menus of its state", () => {
  paused(pausedWorker({ location: AT, state: "held" }));
  const { provider } = view("pausedWorkers");
  const [group] = provider.getChildren();
  const [row] = provider.getChildren(group);
  const item = provider.getTreeItem(row);
  assert.equal(
    item.accessibilityInformation?.label,
    "policy_0, rank 0, held since 14:10, at policy.py:42, node 10.0.0.1, process 123",
  );
  assert.deepEqual([item.command?.command, item.command?.arguments], ["eagleray.attach", [row]]);
  assert.equal(item.contextValue, "worker.held");
  assert.match(
    item.tooltip ?? "",
    /\/app\/policy\.py:42 in train\nNode 10\.0\.0\.1, PID 123\nWorker 0badcafe$/,
  );
});

test("a worker whose node is gone is marked, not counted, and has no menu for debugging", () => {
  paused(pausedWorker(), pausedWorker({ worker_id: "stale", name: "policy_1", state: "gone" }));
  assert.deepEqual(rows("pausedWorkers"), [
    "symbol-class: PolicyWorker.train | 2",
    "  debug-pause: policy_0 | 12 s",
    "  debug-disconnect: policy_1 | node lost · rank 0",
  ]);
  const { provider } = view("pausedWorkers");
  const [group] = provider.getChildren();
  const stale = provider.getTreeItem(provider.getChildren(group)[1]);
  assert.deepEqual([stale.contextValue, stale.command], ["worker.gone", undefined]);
});

test("a worker that is held on another login node says where, and has no menu for debugging", () => {
  paused(pausedWorker({ state: "held", held_on: "login2" }));
  assert.deepEqual(rows("pausedWorkers"), [
    "symbol-class: PolicyWorker.train | 1",
    "  lock: policy_0 | held on login2",
  ]);
  const { provider } = view("pausedWorkers");
  const [group] = provider.getChildren();
  const row = provider.getTreeItem(provider.getChildren(group)[0]);
  assert.equal(row.contextValue, "worker.elsewhere");
});

test("hostile names stay one line of plain text", () => {
  const hostile = "evil\n[x](command:y) $(trash) \u001b[31m\u202e";
  paused(
    pausedWorker({ name: hostile, exception: hostile, kind: "post-mortem", node_ip: hostile }),
  );
  for (const row of rows("pausedWorkers")) {
    assert.doesNotMatch(row, /\n|\]\(|\$\(|\p{Cc}|\p{Bidi_Control}/u);
  }
});

test("with none paused, the view says what it sees and what stands in the way", () => {
  const problem = {
    code: "no-debugpy",
    message: "debugpy is missing.",
    next_step: "Install it.",
    retries: false,
    output: "",
  };
  clusters(cluster({ problems: [problem] }));
  assert.deepEqual(rows("pausedWorkers"), [
    "info: No worker is paused | local (8265)",
    "  warning: debugpy missing | ",
  ]);
});

test("a cluster that ended has one row, whose tooltip says why and what to do", () => {
  const message = "Nothing answers at http://127.0.0.1:8265.";
  const next_step = "Check that Ray is running.";
  const problem = { code: "cluster-unreachable", message, next_step, retries: true, output: "" };
  clusters(cluster({ state: "unreachable", sentence: message, problems: [problem] }));
  assert.deepEqual(rows("pausedWorkers"), ["info: local (8265) | not responding"]);
  const { provider } = view("pausedWorkers");
  const [row] = provider.getChildren();
  assert.match(String(provider.getTreeItem(row).tooltip), /Nothing answers[^]*Ray is running\./);
});

test("with none paused and nothing in the way the view is empty, and its title says how many are watched", () => {
  clusters(cluster());
  assert.deepEqual(rows("pausedWorkers"), []);
  assert.equal(view("pausedWorkers").description, "none of 6 workers");
  clusters(cluster(), cluster({ id: "http://b:1", workers: 3 }), cluster({ state: "failing" }));
  assert.equal(view("pausedWorkers").description, "none of 9 workers");
  paused(pausedWorker(), pausedWorker({ worker_id: "b", state: "held" }));
  assert.equal(view("pausedWorkers").description, "1 paused · 1 held");
  paused(pausedWorker({ state: "debugging" }));
  assert.equal(view("pausedWorkers").description, "1 debugging");
});

test("with no cluster the view is empty, which shows its welcome text", () => {
  clusters();
  assert.deepEqual(rows("pausedWorkers"), []);
});

test("the badge counts who waits, and goes with the last", () => {
  paused(pausedWorker(), pausedWorker({ worker_id: "b", state: "held" }));
  assert.deepEqual(view("pausedWorkers").badge, { value: 2, tooltip: "1 paused · 1 held" });
  paused();
  assert.equal(view("pausedWorkers").badge, undefined);
});

test("how long they have waited continues without news", () => {
  paused(pausedWorker({ waiting_s: 50 }));
  mock.timers.tick(15_000);
  assert.match(rows("pausedWorkers")[1] ?? "", / 1 m 5 s$/);
});

test("1 000 rows are drawn at once, in folded groups", () => {
  paused(
    ...Array.from({ length: 1000 }, (_, rank) => pausedWorker({ worker_id: `w${rank}`, rank })),
  );
  const { provider } = view("pausedWorkers");
  const [group] = provider.getChildren();
  assert.equal(provider.getTreeItem(group).collapsibleState, 1);
  assert.equal(
    new Set(provider.getChildren(group).map((row) => provider.getTreeItem(row).id)).size,
    1000,
  );
});

test("the first pause of each run of a cluster is announced once, for all that came together", async () => {
  clusters(cluster());
  paused(pausedWorker());
  paused(pausedWorker(), pausedWorker({ worker_id: "b" }));
  mock.timers.tick(1_000);
  paused();
  paused(pausedWorker({ worker_id: "c" }));
  mock.timers.tick(1_000);
  await settled();
  const said = editor.asked.map((asked) => asked.text);
  assert.deepEqual(said, ["PolicyWorker.train: 2 workers paused."]);
  clusters(cluster({ session: "session_2" }));
  fake.sidecar.notify(CHANGED, snapshotOf([pausedWorker({ kind: "post-mortem" })], "Eval", true));
  mock.timers.tick(1_000);
  assert.equal(editor.asked[1]?.text, "policy_0 (rank 0) failed and is paused.");
});

test("its button attaches to the first that waits", async () => {
  editor.answer = () => "Attach";
  clusters(cluster());
  paused(pausedWorker({ worker_id: "a", state: "held" }), pausedWorker({ worker_id: "b" }));
  mock.timers.tick(1_000);
  await settled();
  const [run] = editor.executed;
  assert.equal(run?.command, "eagleray.attach");
  assert.equal((run.args[0] as { worker: PausedWorker }).worker.worker_id, "b");
});

test("who attaches by itself is not invited; held workers are not announced", async () => {
  clusters(cluster());
  paused(pausedWorker({ state: "held" }));
  mock.timers.tick(1_000);
  editor.settings["eagleray.autoAttach"] = "first";
  paused(pausedWorker());
  mock.timers.tick(1_000);
  await settled();
  assert.deepEqual(editor.asked, []);
});

test("workers that come to the front anyway are not announced, others of their cluster are", async () => {
  fake.app.broughtUp.set(new Set(["a"]));
  clusters(cluster());
  paused(pausedWorker({ worker_id: "a" }));
  mock.timers.tick(1_000);
  await settled();
  paused(pausedWorker({ worker_id: "a" }), pausedWorker({ worker_id: "b" }));
  mock.timers.tick(1_000);
  await settled();
  const said = editor.asked.map((asked) => asked.text);
  assert.deepEqual(said, ["policy_0 (rank 0) is paused at a breakpoint."]);
});

test("the sidecar watches closely only while some view is seen", async () => {
  view("pausedWorkers").show(true);
  view("clusters").show(true);
  view("pausedWorkers").show(false);
  view("clusters").show(false);
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(WATCH), [{ visible: true }, { visible: false }]);
  fake.sidecar.started();
  assert.deepEqual(fake.sidecar.sentTo(WATCH).at(-1), { visible: false });
});

test("a panel that is seen starts the sidecar", () => {
  fake.sidecar.state.set("idle");
  view("pausedWorkers").show(true);
  assert.equal(fake.sidecar.starts, 1);
  assert.deepEqual(fake.sidecar.sentTo(WATCH), []);
});

const NODES: readonly LiveNode[] = [
  { node_id: "n1", ip: "10.0.0.1", name: "node-1", is_head: true },
  { node_id: "n2", ip: "10.0.0.2", name: "", is_head: false },
];
const WORKERS: readonly LiveWorker[] = [
  anyWorker({ worker_id: "d", name: "driver · train.py", kind: "driver", rank: null, running: "" }),
  anyWorker(),
  anyWorker({ worker_id: "b", name: "policy_1", rank: 1, state: "paused", node_id: "n2" }),
  anyWorker({ worker_id: "", name: "policy_2", rank: 2, state: "pending", node_id: "", pid: 0 }),
  anyWorker({ worker_id: "c", name: "idle", kind: "idle", rank: null, state: "idle" }),
];

test("workers are requested once their cluster is open, and not while it is closed", async () => {
  fake.sidecar.on(ALL, () => ({ workers: WORKERS, nodes: NODES }));
  clusters(cluster());
  view("clusters").show(true);
  await settled();
  const { provider, collapsed } = view("clusters");
  const [row] = provider.getChildren();
  assert.equal(provider.getTreeItem(row).collapsibleState, 1);
  mock.timers.tick(10_000);
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(ALL), []);
  assert.deepEqual(rows("clusters"), [
    "server-environment: local (8265) | 6 workers",
    "  loading~spin: Loading workers… | ",
  ]);
  await settled();
  assert.equal(fake.sidecar.sentTo(ALL).length, 1);
  mock.timers.tick(5_000);
  await settled();
  assert.equal(fake.sidecar.sentTo(ALL).length, 2);
  collapsed.fire({ element: row });
  mock.timers.tick(10_000);
  await settled();
  assert.equal(fake.sidecar.sentTo(ALL).length, 2);
});

async function opened(): Promise<void> {
  view("clusters").show(true);
  rows("clusters");
  await settled();
}

test("workers are nested by node, or by class", async () => {
  fake.sidecar.on(ALL, () => ({ workers: WORKERS, nodes: NODES }));
  clusters(cluster());
  await opened();
  assert.deepEqual(rows("clusters"), [
    "server-environment: local (8265) | 6 workers",
    "  vm: node-1 | 2 workers · 1 idle · head",
    "    home: train.py | driver",
    "    server-process: policy_0 | running",
    "    circle-outline: Idle | 1",
    "      circle-outline: process 123 | ",
    "  vm: 10.0.0.2 | 1 paused · 1 worker",
    "    debug-pause: policy_1 | paused",
    "  watch: Pending | 1",
    "    server-process: policy_2 | pending",
  ]);
  await editor.run("eagleray.groupByClass");
  assert.deepEqual(rows("clusters").slice(1), [
    "  home: train.py | driver · 10.0.0.1",
    "  server-process: PolicyWorker | 1 paused · 2 workers · 1 pending",
    "    server-process: policy_0 | running · 10.0.0.1",
    "    debug-pause: policy_1 | paused · 10.0.0.1",
    "    server-process: policy_2 | pending · 10.0.0.1",
    "  circle-outline: Idle | 1",
    "    circle-outline: process 123 | 10.0.0.1",
  ]);
  assert.equal(editor.contextKeys["eagleray.clustersBy"], "class");
  assert.equal(fake.app.context.globalState.get("eagleray.clustersBy"), "class");
});

test("a cluster of 1,000 workers shows its nodes without making rows of the workers", async () => {
  const nodes = Array.from({ length: 16 }, (_, i): LiveNode => {
    return { node_id: `n${i}`, ip: `10.0.0.${i}`, name: `node-${i}`, is_head: i === 0 };
  });
  const workers = Array.from({ length: 1_000 }, (_, i) =>
    anyWorker({ worker_id: `w${i}`, name: `policy_${i}`, rank: i, node_id: `n${i % 16}` }),
  );
  fake.sidecar.on(ALL, () => ({ workers, nodes }));
  clusters(cluster({ workers: 1_000 }));
  await opened();
  const { provider } = view("clusters");
  const [row] = provider.getChildren();
  const items = provider.getChildren(row).map((node) => provider.getTreeItem(node));
  assert.equal(items.length, 16);
  assert.deepEqual([...new Set(items.map((item) => item.collapsibleState))], [1]);
});

test("an unchanged answer doesn't draw the rows again", async () => {
  fake.sidecar.on(ALL, () => ({ workers: [...WORKERS], nodes: NODES }));
  clusters(cluster());
  await opened();
  const provider = view("clusters").provider as unknown as RowTree<ClusterTreeRow>;
  let redraws = 0;
  provider.onDidChangeTreeData(() => (redraws += 1));
  mock.timers.tick(5_000);
  await settled();
  assert.equal(redraws, 0);
});

test("a cluster whose workers can't be loaded shows why", async () => {
  fake.sidecar.on(ALL, () => {
    throw new EaglerayError("cluster-slow", "It did not answer.", "Try again.");
  });
  clusters(cluster());
  await opened();
  assert.deepEqual(rows("clusters").slice(1), ["  warning: Not responding | "]);
  const { provider } = view("clusters");
  const [row] = provider.getChildren();
  const [problem] = provider.getChildren(row);
  assert.equal(provider.getTreeItem(problem).tooltip, "It did not answer.\nTry again.");
});
