import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { register } from "../../extension/features/clusters";
import {
  CHANGED,
  FORGET_HOST,
  LIST,
  RECONNECT,
  REFRESH,
  type Cluster,
  type ClusterRoute,
} from "../../extension/features/clusters/messages";
import {
  clustersTexts,
  clusterTexts,
  type ClustersView,
} from "../../extension/features/clusters/rows";
import {
  CHANGED as PAUSED_CHANGED,
  REFRESH as REFRESH_WORKERS,
} from "../../extension/features/workers/messages";
import type { Row } from "../../extension/panel";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach } from "../fakes/registered";
import { editor } from "../fakes/vscode";
import { cluster, clustersOf, job, pausedWorker, route, snapshotOf } from "../workers/samples";

const VIEW: ClustersView = { clusters: clustersOf([]), connecting: new Set(), age_s: 0 };

let fake: FakeApp;

registeredForEach(register, (made) => {
  fake = made;
});

function shownRows(): string[] {
  const view = editor.views.get("eagleray.clusters");
  assert.ok(view);
  const lines = (rows: readonly unknown[], indent: string): string[] =>
    rows.flatMap((row) => {
      const item = view.provider.getTreeItem(row);
      const line = `${indent}${item.label} | ${item.description} | ${item.contextValue}`;
      return [line, ...lines(view.provider.getChildren(row), `${indent}  `)];
    });
  return lines(view.provider.getChildren(), "");
}

function rowOf(one: Cluster): Row {
  return { row: "cluster", cluster: one };
}

test("each cluster stands there with its sentence, its problems below it, and the hints last", () => {
  const problem = {
    code: "no-debugpy",
    message: "debugpy is missing.",
    next_step: "Install it.",
    retries: false,
  };
  const hint = {
    code: "foreign",
    message: "8265 is somebody else’s.",
    next_step: "",
    retries: false,
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
    "127.0.0.1:8265 | Connected, Ray 2.60.0, 6 workers, none paused | cluster.own",
    "  debugpy is missing. | Install it. | problem",
    "h:1 | unreachable | cluster.added",
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
    "train | Connected, Ray 2.60.0, 6 workers, none paused · through job 12 on node-1, through login · 1 h 20 m left | cluster.added.routed",
    "train | No answer from login for 12 s; connecting again · through login · 1 h 20 m left | cluster.added.routed",
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
    assert.match(texts.spoken, state === "ready" ? /Ray 2\.60\.0/ : /connect|answer/);
    assert.match(texts.tooltip, new RegExp(`^Through login: ${state}$`, "m"));
  });
}

test("the last words of ssh stand in the tooltip, line by line, and can be shown whole", async () => {
  const lost = cluster({ route: LOST });
  fake.sidecar.notify(CHANGED, clustersOf([lost]));
  assert.match(
    clusterTexts(lost).tooltip,
    /\nThe last it said:\ndebug1: x\nConnection to login closed\.$/,
  );
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
      host: { host: evil, state: "failing", sentence: evil },
    }),
  ];
  for (const { label, description, tooltip, spoken } of texts) {
    assert.doesNotMatch(`${label} ${description} ${spoken}`, /\$\(|\]\(|[\n\u001b]/);
    assert.doesNotMatch(tooltip, /\$\(|\]\(|\u001b/);
  }
});

test("Reconnect asks for a new connection; from the palette of the clusters that have one", async () => {
  const routed = cluster({ id: "ssh://login/http://127.0.0.1:8265", route: LOST });
  fake.sidecar.notify(CHANGED, clustersOf([cluster(), routed]));
  await editor.run("eagleray.reconnect", rowOf(routed));
  editor.answer = ({ options }) => (options["items"] as unknown[])[0];
  await editor.run("eagleray.reconnect");
  assert.deepEqual(fake.sidecar.sentTo(RECONNECT), [
    { cluster: routed.id },
    { cluster: routed.id },
  ]);
});

test("running jobs with a Ray in them and hosts of jobs stand there, each with its menu", () => {
  const hosts = [
    { host: "login", state: "ok" as const, sentence: "" },
    { host: "other", state: "failing" as const, sentence: "other refused the key." },
  ];
  fake.sidecar.notify(CHANGED, clustersOf([], { jobs: [job()], hosts }));
  assert.deepEqual(shownRows(), [
    "train | job 12 · login · 3 nodes · Ray 2.60.0 · 1 h 20 m left | job",
    "login | your jobs are looked for there | jobHost",
    "other | other refused the key. | jobHost",
  ]);
});

test("a host is looked at and forgotten", async () => {
  const hosts = [{ host: "login", state: "ok" as const, sentence: "" }];
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
  assert.equal(fake.app.paused.value.paused, 1);
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
  assert.equal(fake.app.paused.value.paused, 1);
});

test("what to do can be copied from a problem's row", async () => {
  const problem = { code: "x", message: "x", next_step: "pip install debugpy", retries: false };
  await editor.run("eagleray.copyFix", { row: "problem", cluster: "", problem });
  assert.equal(editor.clipboard, "pip install debugpy");
});
