// "Open Terminal on Node", against a fake sidecar and editor.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { Row } from "../../extension/rows";
import { CHANGED, TERMINAL, type TerminalRef } from "../../extension/clusters/messages";
import { nodesOf } from "../../extension/clusters/node_terminal";
import { type FakeApp } from "../fakes/app";
import { registerClusters, registeredForEach } from "../fakes/registered";
import { editor } from "../fakes/vscode";
import { CLUSTER_ID, anyWorker, cluster, clustersOf, pausedWorker } from "../debug/workers/samples";

const worker = pausedWorker();
const group = {
  row: "group" as const,
  cluster: CLUSTER_ID,
  title: "t",
  workers: [worker],
  post_mortem: false,
  waiting: "",
  sentence: "",
};
const elsewhere = anyWorker({ node_id: "n2" });

const ROWS: readonly (readonly [string, Row | undefined, TerminalRef | undefined])[] = [
  ["a paused worker", { row: "worker", worker, group }, { cluster: CLUSTER_ID, node_id: "n1" }],
  ["any worker", { row: "anyWorker", worker: elsewhere }, { cluster: CLUSTER_ID, node_id: "n2" }],
  ["a group on one node", group, { cluster: CLUSTER_ID, node_id: "n1" }],
  [
    "a group on several nodes",
    {
      row: "anyGroup",
      cluster: CLUSTER_ID,
      node: "",
      kind: "class",
      title: "t",
      workers: [anyWorker(), elsewhere],
    },
    undefined,
  ],
  ["a cluster", { row: "cluster", cluster: cluster() }, { cluster: CLUSTER_ID, node_id: "" }],
  ["nothing", undefined, undefined],
];

for (const [name, row, node] of ROWS) {
  test(`a terminal for ${name} opens on its node, if it has one`, () => {
    assert.deepEqual(nodesOf(row === undefined ? [] : [row]), node === undefined ? [] : [node]);
  });
}

let fake: FakeApp;

registeredForEach(registerClusters, (made) => {
  fake = made;
  fake.sidecar.on(TERMINAL, () => ({
    title: "node-1 of $(trash) train",
    argv: ["ssh", "-t", "--", "login", "srun --overlap --pty bash"],
    env: { TERM: "xterm" },
  }));
});

test("the terminal runs the argument vector as it is, without a shell of its own", async () => {
  await editor.run("eagleray.openTerminal", { row: "worker", worker, group });
  assert.deepEqual(fake.sidecar.sentTo(TERMINAL), [{ cluster: CLUSTER_ID, node_id: "n1" }]);
  const [terminal] = editor.terminals;
  assert.doesNotMatch(String(terminal?.options["name"]), /\$\(/);
  assert.deepEqual(terminal?.options, {
    name: terminal?.options["name"],
    shellPath: "ssh",
    shellArgs: ["-t", "--", "login", "srun --overlap --pty bash"],
    env: { TERM: "xterm" },
    isTransient: true,
  });
  assert.equal(terminal.shown, true);
});

test("without a row it asks for the cluster and opens on its head", async () => {
  fake.sidecar.notify(CHANGED, clustersOf([cluster()]));
  editor.answer = ({ options }) => (options["items"] as unknown[])[0];
  await editor.run("eagleray.openTerminal");
  assert.deepEqual(fake.sidecar.sentTo(TERMINAL), [{ cluster: CLUSTER_ID, node_id: "" }]);
});

test("in a workspace that is not trusted no terminal is opened", async () => {
  editor.trusted = false;
  await editor.run("eagleray.openTerminal", { row: "worker", worker, group });
  assert.deepEqual([fake.sidecar.sent, editor.terminals], [[], []]);
  assert.match(editor.asked[0]?.text ?? "", /Trust this workspace/);
});
