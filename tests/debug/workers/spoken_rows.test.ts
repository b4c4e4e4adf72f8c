// The text for a screen reader of each row: its subject, in whole phrases, also where something is unknown.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { RowTexts } from "../../../extension/common/texts";
import { RecordingTimes } from "../../../extension/runs/recording_times";
import { runsRows, runsTexts, type RunsRow, type RunsView } from "../../../extension/runs/rows";
import type { Run, RunWorkerStatus } from "../../../extension/runs/messages";
import type { Cluster, Job, JobHost } from "../../../extension/clusters/messages";
import {
  clusterTreeRows,
  clusterTreeTexts,
  type ClusterTreeView,
  type Grouping,
  type Loaded,
} from "../../../extension/debug/workers/cluster_rows";
import type { ClusterTreeRow, PausedRow } from "../../../extension/debug/workers/rows";
import type { LiveNode, LiveWorker, PausedWorker } from "../../../extension/debug/workers/messages";
import {
  pausedRows,
  pausedTexts,
  type PausedView,
} from "../../../extension/debug/workers/paused_rows";
import { profiledRun, profiledWorker } from "../../profile/recordings/samples";
import { aRun, runLine, runWorker } from "../../runs/samples";
import { anyWorker, cluster, clustersOf, job, pausedWorker, problem, route } from "./samples";

interface Spoken {
  readonly kind: string;
  readonly texts: RowTexts;
}

/** All rows of a view, from top to bottom. */
function allOf<R extends { readonly row: string }>(
  children: (row?: R) => readonly R[],
  texts: (row: R) => RowTexts,
  rows = children(),
): Spoken[] {
  return rows.flatMap((row) => [
    { kind: row.row, texts: texts(row) },
    ...allOf(children, texts, children(row)),
  ]);
}

const AT = { path: "/app/policy.py", line: 42, function: "train", local: "" };
/** Fields that the cluster may leave empty. */
const UNKNOWN = { node_ip: "", rank: null, node_id: "" };

function pausedOnes(): Spoken[] {
  const states: readonly PausedWorker["state"][] = ["paused", "held", "debugging", "gone"];
  const workers = states.flatMap((state) => [
    pausedWorker({ state, location: AT }),
    pausedWorker({ state, ...UNKNOWN }),
    pausedWorker({ state, kind: "post-mortem", exception: "" }),
    pausedWorker({ state, kind: "post-mortem", exception: "ValueError: x", held_on: "login2" }),
  ]);
  const parent = pausedWorker({ children: [pausedWorker({ ...UNKNOWN }), pausedWorker()] });
  const titles = ["PolicyWorker.train", "Driver", "load"];
  const groups = titles.flatMap((title) =>
    [false, true].map((post_mortem) => ({
      cluster: "c",
      title,
      post_mortem,
      waiting: "Rank 0 waits",
      sentence: "Rank 0 waits.",
      workers: [...workers, parent],
    })),
  );
  const view = (list: typeof groups, clusters: readonly Cluster[]): PausedView => ({
    snapshot: { groups: list, stops: { paused: 0, held: 0, debugging: 0 } },
    clusters: clustersOf(clusters),
    age_s: 1,
    now: 0,
  });
  const views = [
    view(groups, [cluster({ id: "c" })]),
    view(groups, [cluster({ id: "c" }), cluster({ id: "d", name: "other" })]),
    view([], everyCluster()),
  ];
  return views.flatMap((one) =>
    allOf<PausedRow>(
      (row) => pausedRows(one, row),
      (row) => pausedTexts(one, row),
    ),
  );
}

function everyCluster(): Cluster[] {
  const states: readonly Cluster["state"][] = [
    "connecting",
    "connected",
    "unreachable",
    "unauthorized",
    "not-ray",
    "failing",
  ];
  return states.flatMap((state) => [
    cluster({ id: state, state, sentence: "", workers: -1 }),
    cluster({
      id: `${state} 2`,
      state,
      run: "r",
      time_left_s: 60,
      route: route({ state: "lost", via: "" }),
      problems: [problem("token-needed", "A token is needed."), problem("x", "It failed.", "Try.")],
    }),
  ]);
}

function clusterOnes(): Spoken[] {
  const kinds: readonly LiveWorker["kind"][] = ["actor", "task", "driver", "idle"];
  const workers = kinds.flatMap((kind) => [
    anyWorker({ kind }),
    anyWorker({ kind, ...UNKNOWN, pid: 0, running: "", class_name: "", worker_id: "" }),
    anyWorker({ kind, state: "paused", node_id: "n2" }),
  ]);
  const nodes: readonly LiveNode[] = [
    { node_id: "n1", ip: "10.0.0.1", name: "head", is_head: true },
    { node_id: "n2", ip: "", name: "", is_head: false },
    { node_id: "n3", ip: "10.0.0.3", name: "", is_head: false },
  ];
  const hosts = (["ok", "asking", "failing"] as const).map((state): JobHost => ({
    host: `login-${state}`,
    state,
    problem: state === "failing" ? problem("ssh-failed", "Can't connect to login by ssh.") : null,
  }));
  const jobs: readonly Job[] = [
    job({ host: "login-ok" }),
    job({ host: "", name: "", node_count: 0, time_left_s: null, sentence: "" }),
  ];
  const loaded = new Map<string, Loaded>([
    ["connected", { workers, nodes }],
    ["connected 2", problem("no-answer", "It doesn't answer.")],
  ]);
  const view = (grouping: Grouping): ClusterTreeView => ({
    clusters: clustersOf([...everyCluster(), cluster({ id: "loading" })], { hosts, jobs }),
    connecting: new Set(["ssh://login/slurm://12"]),
    age_s: 1,
    runs: new Map([["r", "train.py"]]),
    grouping,
    loaded: (id) => loaded.get(id),
  });
  return [view("node"), view("class")].flatMap((one) =>
    allOf<ClusterTreeRow>(
      (row) => clusterTreeRows(one, row),
      (row) => clusterTreeTexts(one, row),
    ),
  );
}

function runOnes(): Spoken[] {
  const states: readonly Run["state"][] = [
    "starting",
    "running",
    "paused",
    "stopping",
    "exited",
    "failed",
    "cancelled",
    "unwatched",
    "unknown",
  ];
  const workerStates: readonly RunWorkerStatus["state"][] = [
    "starting",
    "running",
    "paused",
    "debugging",
    "held",
  ];
  const some = workerStates.flatMap((state) => [
    runWorker({ state, rank: "1", path: "/app/policy.py", line: 3 }),
    runWorker({ state, name: "", kind: "driver" }),
  ]);
  const many = Array.from({ length: 12 }, (_, number) =>
    runWorker({ worker_id: `${number}`, name: `policy-${number}` }),
  );
  const lines = (["moved", "unreachable", "pending", "verified"] as const).map((state) =>
    runLine({ state }),
  );
  const runs = states.flatMap((state) => [
    aRun({ id: `${state} 1`, state, workers: some, lines }),
    aRun({ id: `${state} 2`, state, workers: many, arguments: "", note: "n", reason: "r" }),
    aRun({ id: `${state} 3`, state, code: 1, cluster: "gone" }),
  ]);
  const view: RunsView = {
    runs: { runs },
    servers: [],
    clusters: clustersOf([cluster({ id: "http://c:1", name: "big" })]),
    profiled: {
      runs: [
        profiledRun({
          run: "running 1",
          workers: [profiledWorker({ reports: ["/r/a.nsys-rep", "/r/b.nsys-rep"] })],
        }),
      ],
    },
    recordings: new RecordingTimes(),
    now_s: 1080,
  };
  return allOf<RunsRow>(
    (row) => runsRows(view, row),
    (row) => runsTexts(view, row),
  );
}

/** Words that say what comes after them. */
const OPEN_END =
  /^(node|at|rank|process|run|cluster|group|class|report|breakpoint|job|through|waiting|started( by)?)\s*$/;

const VIEWS: readonly (readonly [string, () => Spoken[], readonly string[]])[] = [
  ["Paused", pausedOnes, ["group", "sentence", "worker", "empty", "problem"]],
  [
    "Clusters",
    clusterOnes,
    ["cluster", "job", "jobHost", "problem", "node", "anyGroup", "anyWorker", "loading"],
  ],
  ["Runs", runOnes, ["run", "runGroup", "runWorker", "runLine", "runReport"]],
];

for (const [name, rows, kinds] of VIEWS) {
  test(`every row of ${name} is spoken in whole phrases`, () => {
    const spoken = rows();
    assert.deepEqual([...new Set(spoken.map(({ kind }) => kind))].sort(), [...kinds].sort());
    for (const { kind, texts } of spoken) {
      const { label, spoken: text } = texts;
      assert.notEqual(text.trim(), "", kind);
      const phrases = text.split(", ");
      assert.ok(
        phrases.every((phrase) => phrase.trim() !== ""),
        text,
      );
      assert.equal(new Set(phrases).size, phrases.length, `twice in: ${text}`);
      assert.deepEqual(
        phrases.filter((phrase) => OPEN_END.test(phrase)),
        [],
        text,
      );
      assert.doesNotMatch(text, /undefined|null|NaN|·|\{\d\}|\n/, kind);
      // The eyes and the ears learn the same name; of idle workers and groups the words differ.
      const isNamed = text.toLowerCase().includes(label.replace(/…$/, "").toLowerCase());
      assert.ok(isNamed || kind === "anyWorker" || kind === "run", `${label}: ${text}`);
    }
  });
}
