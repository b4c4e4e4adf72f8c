// The view Clusters and its commands, against a fake sidecar and editor.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import type { Row } from "../../extension/common/rows";
import { register } from "../../extension/features/clusters";
import {
  ADD,
  CHANGED,
  LIST,
  REFRESH,
  REMOVE,
  SET_TOKEN,
  type Cluster,
} from "../../extension/features/clusters/messages";
import { addressProblem } from "../../extension/features/clusters/model";
import {
  CHANGED as PAUSED_CHANGED,
  REFRESH as REFRESH_WORKERS,
} from "../../extension/features/workers/messages";
import { fakeParts, settled, type FakeParts } from "../fakes/parts";
import { editor } from "../fakes/vscode";
import { CLUSTER_ID, cluster, pausedWorker, snapshotOf } from "../workers/samples";

let fake: FakeParts;

beforeEach(() => {
  editor.reset();
  fake = fakeParts();
  register(fake.parts);
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

const ADDRESSES: readonly (readonly [string, boolean])[] = [
  ["8265", true],
  [" 8265 ", true],
  ["head:8265", true],
  ["10.0.0.1:8265", true],
  ["[::1]:8265", true],
  ["http://head:8265", true],
  ["https://head/ray", true],
  ["", false],
  ["head", false],
  ["ray://head:10001", false],
  ["file:///etc/passwd", false],
  ["head:8265/path", false],
  ["user@head:8265", false],
];

for (const [address, good] of ADDRESSES) {
  test(`the address ${JSON.stringify(address)} is ${good ? "accepted" : "refused"}`, () => {
    assert.equal(addressProblem(address) === undefined, good);
  });
}

test("each cluster stands there with its sentence, its problems below it, and the hints last", () => {
  const problem = { code: "no-debugpy", message: "debugpy is missing.", next_step: "Install it." };
  const hint = { code: "foreign", message: "8265 is somebody else’s.", next_step: "" };
  const added = cluster({
    id: "http://h:1",
    name: "h:1",
    origin: "added",
    state: "unreachable",
    sentence: "",
  });
  fake.sidecar.notify(CHANGED, {
    clusters: [cluster({ problems: [problem] }), added],
    hints: [hint],
  });
  assert.deepEqual(shownRows(), [
    "127.0.0.1:8265 | Connected, Ray 2.60.0, 6 workers, none paused | cluster.own",
    "  debugpy is missing. | Install it. | problem",
    "h:1 | unreachable | cluster.added",
    "8265 is somebody else’s. |  | problem",
  ]);
});

test("a cluster is added by its address, and the token asked for when it wants one", async () => {
  editor.answer = ({ kind, options }) =>
    kind === "input" ? (options["password"] === true ? "s3cret" : " host:8265 ") : undefined;
  fake.sidecar.on(ADD, ({ token }) => {
    if (token === undefined) {
      throw new EaglerayError("token-needed", "It asks for a token.");
    }
    return cluster({ id: "http://host:8265" });
  });
  await editor.run("eagleray.addCluster");
  assert.deepEqual(fake.sidecar.sentTo(ADD), [
    { address: "host:8265" },
    { address: "host:8265", token: "s3cret" },
  ]);
  assert.deepEqual([...fake.secrets.values.values()], ["s3cret"]);
});

test("an address that does not work is said, with a way to the log, and nothing is kept", async () => {
  editor.answer = ({ kind }) => (kind === "input" ? "8265" : undefined);
  fake.sidecar.on(ADD, () => {
    throw new EaglerayError("not-ray", "That is not a Ray dashboard.", "Check the port.");
  });
  await editor.run("eagleray.addCluster");
  const shown = editor.asked.find((asked) => asked.kind === "error");
  assert.deepEqual(
    [shown?.text, shown?.buttons],
    ["That is not a Ray dashboard. Check the port.", ["Show Logs"]],
  );
  assert.match(fake.log.text, /adding a cluster: not-ray/);
  assert.equal(fake.secrets.values.size, 0);
});

test("Escape adds nothing and says nothing", async () => {
  await editor.run("eagleray.addCluster");
  assert.deepEqual([fake.sidecar.sent, editor.asked.length], [[], 1]);
});

test("a removed cluster takes its token along", async () => {
  editor.answer = () => "s3cret";
  const added = cluster({ origin: "added" });
  fake.sidecar.notify(CHANGED, { clusters: [added], hints: [] });
  await editor.run("eagleray.setToken", rowOf(added));
  assert.deepEqual(fake.sidecar.sentTo(SET_TOKEN), [{ cluster: CLUSTER_ID, token: "s3cret" }]);
  await editor.run("eagleray.removeCluster", rowOf(added));
  assert.deepEqual(fake.sidecar.sentTo(REMOVE), [{ cluster: CLUSTER_ID }]);
  assert.equal(fake.secrets.values.size, 0);
});

test("a sidecar that starts again is told the tokens; one that is refused is kept", async () => {
  editor.answer = () => "s3cret";
  fake.sidecar.notify(CHANGED, { clusters: [cluster()], hints: [] });
  await editor.run("eagleray.setToken", rowOf(cluster()));
  fake.sidecar.on(SET_TOKEN, () => {
    throw new EaglerayError("unknown-cluster", "There is no such cluster.");
  });
  fake.sidecar.started();
  await settled();
  assert.equal(fake.sidecar.sentTo(SET_TOKEN).length, 2);
  assert.deepEqual([...fake.secrets.values.values()], ["s3cret"]);
  assert.doesNotMatch(fake.log.text, /s3cret/);
});

test("an empty token is forgotten", async () => {
  fake.sidecar.notify(CHANGED, { clusters: [cluster()], hints: [] });
  editor.answer = () => "s3cret";
  await editor.run("eagleray.setToken", rowOf(cluster()));
  editor.answer = () => "";
  await editor.run("eagleray.setToken", rowOf(cluster()));
  assert.equal(fake.secrets.values.size, 0);
});

test("Refresh asks for both lists, and a restarted sidecar is asked for them by itself", async () => {
  const worker = pausedWorker();
  fake.sidecar.on(REFRESH, () => ({ clusters: [cluster()], hints: [] }));
  fake.sidecar.on(LIST, () => ({ clusters: [cluster({ state: "connecting" })], hints: [] }));
  fake.sidecar.on(REFRESH_WORKERS, () => snapshotOf([worker]));
  await editor.run("eagleray.refresh");
  assert.equal(fake.parts.clusters.value.clusters[0]?.state, "connected");
  assert.equal(fake.parts.paused.value.paused, 1);
  fake.sidecar.started();
  await settled();
  assert.equal(fake.parts.clusters.value.clusters[0].state, "connecting");
});

test("while the sidecar is down the last lists stay", async () => {
  fake.sidecar.notify(PAUSED_CHANGED, snapshotOf([pausedWorker()]));
  fake.sidecar.on(REFRESH_WORKERS, () => {
    throw new EaglerayError("sidecar-lost", "It ended.");
  });
  fake.sidecar.state.set("failed");
  await editor.run("eagleray.refresh");
  assert.equal(fake.parts.paused.value.paused, 1);
});

test("what to do can be copied from a problem's row", async () => {
  const problem = { code: "x", message: "x", next_step: "pip install debugpy" };
  await editor.run("eagleray.copyNextStep", { row: "problem", cluster: "", problem });
  assert.equal(editor.clipboard, "pip install debugpy");
});
