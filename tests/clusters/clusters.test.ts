import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import type { RowTexts } from "../../extension/common/texts";
import {
  CHANGED,
  DASHBOARD,
  FORGET_HOST,
  LIST,
  RECONNECT,
  REFRESH,
  RENAME,
  type Cluster,
  type ClusterRoute,
} from "../../extension/clusters/messages";
import { clustersTexts, clusterTexts, type ClustersView } from "../../extension/clusters/tree_rows";
import { problemTexts, type ProblemRow } from "../../extension/clusters/rows";
import {
  CHANGED as PAUSED_CHANGED,
  REFRESH as REFRESH_WORKERS,
} from "../../extension/debug/workers/messages";
import type { Row } from "../../extension/rows";
import { settled, type FakeApp } from "../fakes/app";
import { registerClusters, registeredForEach } from "../fakes/registered";
import { editor } from "../fakes/vscode";
import {
  cluster,
  clustersOf,
  job,
  pausedWorker,
  route,
  snapshotOf,
} from "../debug/workers/samples";

const VIEW: ClustersView = {
  clusters: clustersOf([]),
  connecting: new Set(),
  age_s: 0,
  runs: new Map(),
};

let fake: FakeApp;

registeredForEach(registerClusters, (made) => {
  fake = made;
});

function shownRows(): string[] {
  const view = editor.views.get("eagleray.clusters");
  assert.ok(view);
  const lines = (rows: readonly unknown[], indent: string): string[] =>
    rows.flatMap((row) => {
      const item = view.provider.getTreeItem(row);
      if (item.label === "Loading workers…") {
        return [];
      }
      const line = `${indent}${item.label} | ${item.description} | ${item.contextValue}`;
      return [line, ...lines(view.provider.getChildren(row), `${indent}  `)];
    });
  return lines(view.provider.getChildren(), "");
}

function rowOf(one: Cluster): Row {
  return { row: "cluster", cluster: one };
}

test("a cluster row shows its size or state, with its problems below, and hints come last", () => {
  const problem = {
    code: "no-debugpy",
    message: "debugpy is missing.",
    next_step: "Install it.",
    retries: false,
    output: "",
  };
  const hint = {
    code: "foreign",
    message: "8265 is somebody else’s.",
    next_step: "",
    retries: false,
    output: "",
  };
  const added = cluster({
    id: "http://h:1",
    name: "h:1",
    origin: "added",
    state: "unreachable",
    sentence: "",
  });
  fake.sidecar.notify(
    CHANGED,
    clustersOf([cluster({ problems: [problem] }), added], { hints: [hint] }),
  );
  assert.deepEqual(shownRows(), [
    "local (8265) | 6 workers | cluster.own",
    "  debugpy missing |  | problem",
    "h:1 | not responding | cluster.added",
    "8265 is somebody else’s. |  | problem",
  ]);
});

const LOST = route({
  state: "reconnecting",
  sentence: "No answer from login for 12 s; connecting again",
  message: "debug1: x\nConnection to login closed.",
});

test("a cluster beyond a host says how it is reached and how much time its job has left", () => {
  const behind = cluster({ id: "slurm", name: "train", origin: "added", time_left_s: 4_800 });
  const list = [
    { ...behind, route: route({ kind: "srun", via: "job 12 on node-1, through login" }) },
    { ...behind, id: "other", route: LOST },
  ];
  fake.sidecar.notify(CHANGED, clustersOf(list));
  assert.deepEqual(shownRows(), [
    "train | 6 workers · 1 h 20 m left · through job 12 on node-1, through login | cluster.added.routed",
    "train | reconnecting… · 1 h 20 m left · through login | cluster.added.routed",
  ]);
});

const ROUTES: readonly (readonly [ClusterRoute["state"], string])[] = [
  ["connecting", "loading~spin"],
  ["ready", "server-environment"],
  ["degraded", "warning"],
  ["lost", "debug-disconnect"],
  ["reconnecting", "loading~spin"],
];

for (const [state, icon] of ROUTES) {
  test(`a route that is ${state} has an icon and words, also for a screen reader`, () => {
    const texts = clusterTexts(cluster({ route: route({ state, sentence: "" }) }));
    assert.equal(texts.icon, icon);
    assert.match(texts.spoken, state === "ready" ? /Ray 2\.60\.0/ : /connect|respond/);
    assert.match(texts.tooltip, /^Through login: \S/m);
  });
}

test("what ssh printed is in no row, but can be shown whole", async () => {
  const lost = cluster({ route: LOST });
  fake.sidecar.notify(CHANGED, clustersOf([lost]));
  assert.doesNotMatch(clusterTexts(lost).tooltip, /debug1/);
  await editor.run("eagleray.showSshLog", rowOf(lost));
  const [dialog] = editor.asked;
  assert.deepEqual(dialog?.options, {
    modal: true,
    detail: `${LOST.sentence}\n\n${LOST.message}`,
  });
});

test("what a far end writes is only text in rows and tooltips", () => {
  const evil = "$(trash) [a](command:b)\n\u001b[31m";
  const texts = [
    clusterTexts(
      cluster({
        name: evil,
        sentence: evil,
        route: route({ via: evil, sentence: evil, message: evil, state: "lost" }),
      }),
    ),
    clustersTexts(VIEW, {
      row: "job",
      job: job({ name: evil, sentence: evil }),
      connecting: false,
    }),
    clustersTexts(VIEW, {
      row: "jobHost",
      host: { host: evil, state: "failing", problem: null },
      jobs: [],
    }),
  ];
  for (const { label, description, tooltip, spoken } of texts) {
    assert.doesNotMatch(`${label} ${description} ${spoken}`, /\$\(|\]\(|[\n\u001b]/);
    assert.doesNotMatch(tooltip, /\$\(|\]\(|\u001b/);
  }
});

test("Reconnect asks for a new connection, from the palette of any cluster", async () => {
  const routed = cluster({ id: "ssh://login/http://127.0.0.1:8265", route: LOST });
  fake.sidecar.notify(CHANGED, clustersOf([cluster(), routed]));
  await editor.run("eagleray.reconnect", rowOf(routed));
  editor.answer = ({ options }) => (options["items"] as unknown[])[0];
  await editor.run("eagleray.reconnect");
  assert.deepEqual(fake.sidecar.sentTo(RECONNECT), [
    { cluster: routed.id },
    { cluster: cluster().id },
  ]);
});

test("jobs with a Ray are listed below their login node, jobs of this machine at the root", () => {
  const refused = {
    code: "ssh-key-refused",
    message: "other rejected your SSH keys (publickey).",
    next_step: "",
    retries: false,
    output: "alice@other: Permission denied (publickey).",
  };
  const hosts = [
    { host: "login", state: "ok" as const, problem: null },
    { host: "other", state: "failing" as const, problem: refused },
  ];
  const here = job({ id: "7", host: "", address: "slurm://7", name: "" });
  const idle = { host: "idle", state: "ok" as const, problem: null };
  fake.sidecar.notify(CHANGED, clustersOf([], { jobs: [job(), here], hosts: [...hosts, idle] }));
  assert.deepEqual(shownRows(), [
    "job 7 | 3 nodes · 1 h 20 m left | job",
    "login | 1 Ray job | jobHost",
    "  train | job 12 · 3 nodes · 1 h 20 m left | job",
    "other | can't reach SLURM | jobHost",
    "  other rejected your SSH keys (publickey). |  | problem.sshLog",
    "idle | watching for your SLURM jobs | jobHost",
  ]);
});

test("a cluster that a run has started is named after it", () => {
  const texts = clustersTexts(
    { ...VIEW, runs: new Map([["r1", "train.py"]]) },
    {
      row: "cluster",
      cluster: cluster({ run: "r1", stops: { paused: 2, held: 0, debugging: 0 } }),
    },
  );
  assert.equal(texts.label, "local (8265)");
  assert.equal(texts.description, "2 paused · started by train.py");
});

/** As many characters fit beside the icon in a side bar of 300 px. */
const FIT = 38;

test("what counts in a row fits into 300 px", () => {
  const rows: readonly (readonly [RowTexts, string])[] = [
    [
      clusterTexts(
        cluster({ name: "local (29089)", stops: { paused: 3, held: 0, debugging: 0 }, workers: 9 }),
      ),
      "9 workers",
    ],
    [clusterTexts(cluster({ name: "local (29089)", state: "unreachable" })), "not responding"],
    [clusterTexts(cluster({ name: "node-12:8265", state: "unauthorized" })), "sign-in required"],
    [
      clustersTexts(VIEW, {
        row: "jobHost",
        host: { host: "login", state: "ok", problem: null },
        jobs: [],
      }),
      "watching for your SLURM jobs",
    ],
  ];
  for (const [{ label, description }, last] of rows) {
    const text = `${label} ${description}`;
    assert.ok(text.indexOf(last) >= 0 && text.indexOf(last) + last.length <= FIT, text);
  }
});

test("the dashboard is opened in a browser, with a note on what that has to send", async () => {
  fake.sidecar.on(DASHBOARD, () => ({ url: "http://127.0.0.1:4711", asks_for: "token" as const }));
  fake.sidecar.notify(CHANGED, clustersOf([cluster()]));
  await editor.run("eagleray.openDashboard", rowOf(cluster()));
  assert.deepEqual(editor.opened, ["http://127.0.0.1:4711/"]);
  assert.deepEqual(
    editor.asked.map(({ text }) => text),
    ["local (8265) requires a token. Enter it in the browser."],
  );
});

test("the addresses of clusters are copied as they can be entered", async () => {
  const [one, other] = [cluster(), cluster({ id: "ssh://login/slurm://12" })];
  fake.sidecar.notify(CHANGED, clustersOf([one, other]));
  await editor.run("eagleray.copyAddress", rowOf(one), [rowOf(one), rowOf(other)]);
  assert.equal(editor.clipboard, "http://127.0.0.1:8265\nssh://login/slurm://12");
});

test("a cluster gets the entered name, and its own with an empty one", async () => {
  fake.sidecar.notify(CHANGED, clustersOf([cluster()]));
  for (const name of [" big cluster ", ""]) {
    editor.answer = () => name;
    await editor.run("eagleray.renameCluster", rowOf(cluster()));
  }
  editor.answer = () => undefined;
  await editor.run("eagleray.renameCluster", rowOf(cluster()));
  assert.deepEqual(fake.sidecar.sentTo(RENAME), [
    { cluster: cluster().id, name: "big cluster" },
    { cluster: cluster().id, name: "" },
  ]);
});

test("a host is looked at and forgotten", async () => {
  const hosts = [{ host: "login", state: "ok" as const, problem: null }];
  fake.sidecar.notify(CHANGED, clustersOf([], { hosts }));
  await editor.run("eagleray.removeLoginNode", { row: "jobHost", host: hosts[0] });
  assert.deepEqual(fake.sidecar.sentTo(FORGET_HOST), [{ host: "login" }]);
});

test("that the time of a job is nearly up is said once, and again when it got a new limit", async () => {
  const sentence = "The time of job 12 is up in 9 min, and r0 policy stands at a breakpoint.";
  const nearly = cluster({ job: "12", time_left_s: 540, time_warning: sentence });
  for (const one of [nearly, nearly, cluster({ job: "12", time_left_s: 500 }), nearly]) {
    fake.sidecar.notify(CHANGED, clustersOf([one]));
  }
  await settled();
  const warnings = (): string[] =>
    editor.asked.filter(({ kind }) => kind === "warning").map(({ text }) => text);
  assert.deepEqual(warnings(), [sentence]);
  fake.sidecar.notify(CHANGED, clustersOf([cluster({ job: "12", time_left_s: 7_200 })]));
  fake.sidecar.notify(CHANGED, clustersOf([nearly]));
  await settled();
  assert.equal(warnings().length, 2);
});

test("Refresh asks for both lists, and a restarted sidecar is asked for them by itself", async () => {
  const worker = pausedWorker();
  fake.sidecar.on(REFRESH, () => clustersOf([cluster()]));
  fake.sidecar.on(LIST, () => clustersOf([cluster({ state: "connecting" })]));
  fake.sidecar.on(REFRESH_WORKERS, () => snapshotOf([worker]));
  await editor.run("eagleray.refresh");
  assert.equal(fake.app.clusters.value.clusters[0]?.state, "connected");
  assert.equal(fake.app.paused.value.stops.paused, 1);
  fake.sidecar.started();
  await settled();
  assert.equal(fake.app.clusters.value.clusters[0].state, "connecting");
});

test("while the sidecar is down the last lists stay", async () => {
  fake.sidecar.notify(PAUSED_CHANGED, snapshotOf([pausedWorker()]));
  fake.sidecar.on(REFRESH_WORKERS, () => {
    throw new EaglerayError("sidecar-lost", "It ended.");
  });
  fake.sidecar.state.set("failed");
  await editor.run("eagleray.refresh");
  assert.equal(fake.app.paused.value.stops.paused, 1);
});

test("a problem's row shows the log that a message about it offers", async () => {
  const printed = "banner\nalice@other: Permission denied (publickey).";
  const problem = (code: string, output: string): ProblemRow => ({
    row: "problem",
    cluster: "",
    problem: { code, message: "It failed.", next_step: "", retries: false, output },
  });
  assert.deepEqual(
    [
      problem("ssh-failed", printed),
      problem("far-refused", printed),
      problem("slurm-failed", printed),
      problem("ssh-slow", ""),
    ].map((row) => problemTexts(row).context),
    ["problem.sshLog", "problem.sshLog", "problem.log", "problem"],
  );
  await editor.run("eagleray.showSshLog", problem("ssh-failed", printed));
  const [dialog] = editor.asked;
  assert.equal(dialog?.text, "It failed.");
  assert.deepEqual(dialog.options, { modal: true, detail: printed });
});

test("what to do can be copied from a problem's row", async () => {
  const problem = { code: "x", message: "x", next_step: "pip install debugpy" };
  await editor.run("eagleray.copyFix", { row: "problem", cluster: "", problem });
  assert.equal(editor.clipboard, "pip install debugpy");
});
