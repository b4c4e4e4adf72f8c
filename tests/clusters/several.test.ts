// Commands of the view Clusters with several rows selected: all of them are meant.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import type { Row } from "../../extension/rows";
import {
  ADD,
  CHANGED,
  FORGET_HOST,
  RECONNECT,
  REMOVE,
  SET_ACCESS,
  TERMINAL,
} from "../../extension/clusters/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registerClusters, registeredForEach } from "../fakes/registered";
import { editor, type Asked } from "../fakes/vscode";
import { cluster, clustersOf, job, route } from "../debug/workers/samples";

const CLUSTERS = (
  [
    ["a", "added"],
    ["b", "added"],
    ["own", "own"],
  ] as const
).map(([id, origin]) => cluster({ id, name: id, origin, route: route({ message: `from ${id}` }) }));
const ROWS = CLUSTERS.map((one): Row => ({ row: "cluster", cluster: one }));

let fake: FakeApp;

registeredForEach(registerClusters, (made) => {
  fake = made;
  const hosts = ["login", "other"].map((host) => ({ host, state: "ok" as const, problem: null }));
  fake.sidecar.notify(CHANGED, clustersOf(CLUSTERS, { hosts }));
});

/** As the editor calls it from the menu of the row at `at`. */
function run(command: string, rows: readonly Row[] = ROWS, at = 0): Promise<unknown> {
  return editor.run(command, rows[at], rows);
}

test("Remove names all that were added before they go, and asks once", async () => {
  await run("eagleray.removeCluster");
  assert.deepEqual(fake.sidecar.sentTo(REMOVE), []);
  const [asked] = editor.asked;
  assert.deepEqual(
    [asked?.text, asked?.options["detail"], asked?.buttons],
    ["Remove 2 clusters?", "a\nb", ["Remove"]],
  );
  editor.answer = () => "Remove";
  await run("eagleray.removeCluster");
  assert.deepEqual(fake.sidecar.sentTo(REMOVE), [{ cluster: "a" }, { cluster: "b" }]);
  assert.equal(editor.asked.at(-1)?.text, "Removed 2 clusters.");
});

test("one cluster is removed without a question, and Undo restores it with its credentials", async () => {
  editor.answer = ({ buttons }) => (buttons[0] === "Undo" ? "Undo" : "t0ken");
  await editor.run("eagleray.setToken", ROWS[1]);
  await editor.run("eagleray.removeCluster", ROWS[1]);
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(REMOVE), [{ cluster: "b" }]);
  assert.deepEqual(editor.asked.at(-1)?.buttons, ["Undo"]);
  assert.deepEqual(fake.sidecar.sentTo(ADD), [
    { address: "b", anyway: true, token: "t0ken", headers: {}, ca_file: "" },
  ]);
  assert.equal(fake.secrets.values.size, 1);
});

test("Reconnect is for all, and what failed is one message", async () => {
  fake.sidecar.on(RECONNECT, ({ cluster: id }) => {
    if (id !== "b") {
      throw new EaglerayError("ssh-refused", `${id} refused.`, "Look there.");
    }
    return {};
  });
  await run("eagleray.reconnect", ROWS, 1);
  assert.equal(fake.sidecar.sentTo(RECONNECT).length, 3);
  assert.deepEqual(
    editor.asked.map(({ kind, text }) => [kind, text]),
    [["error", "2 of 3 failed. a: a refused. Look there. own: own refused. Look there."]],
  );
});

test("a token is asked for once and given to each", async () => {
  editor.answer = () => "s3cret";
  await run("eagleray.setToken");
  assert.deepEqual(
    editor.asked.map(({ text }) => text),
    ["Token for 3 clusters"],
  );
  const given = ["a", "b", "own"].map((id) => ({ cluster: id, token: "s3cret" }));
  assert.deepEqual(fake.sidecar.sentTo(SET_ACCESS), given);
});

test("a header is added to the headers of each, and taken back from those that have it", async () => {
  const picks = (wanted: string) => (asked: Asked) =>
    asked.kind === "input"
      ? "X-All: 2"
      : (asked.options["items"] as { label: string }[]).find(({ label }) => label === wanted);
  editor.answer = () => "X-Own: 1";
  await editor.run("eagleray.setHeaders", ROWS[0]);
  editor.answer = picks("Add header…");
  await run("eagleray.setHeaders", ROWS.slice(0, 2));
  editor.answer = picks("Remove X-Own");
  await run("eagleray.setHeaders", ROWS.slice(0, 2));
  assert.deepEqual(fake.sidecar.sentTo(SET_ACCESS).slice(1), [
    { cluster: "a", headers: { "X-Own": "1", "X-All": "2" } },
    { cluster: "b", headers: { "X-All": "2" } },
    { cluster: "a", headers: { "X-All": "2" } },
    { cluster: "b", headers: { "X-All": "2" } },
  ]);
});

test("the SSH logs of several clusters are one dialog", async () => {
  await run("eagleray.showSshLog", ROWS.slice(0, 2));
  assert.equal(editor.asked[0]?.text, "SSH log of 2 clusters");
  assert.match(String(editor.asked[0].options["detail"]), /^a\n.*from a\n\nb\n.*from b$/s);
});

test("jobs are connected one after another, and hosts forgotten", async () => {
  const jobs = ["1", "2"].map((id): Row => {
    return { row: "job", job: job({ id, address: `slurm://${id}` }), connecting: false };
  });
  fake.sidecar.on(ADD, () => cluster());
  await run("eagleray.connectJob", jobs);
  assert.deepEqual(fake.sidecar.sentTo(ADD), [{ address: "slurm://1" }, { address: "slurm://2" }]);
  const { hosts } = fake.app.clusters.value;
  await run(
    "eagleray.removeLoginNode",
    hosts.map((host): Row => ({ row: "jobHost", host, jobs: [] })),
  );
  assert.deepEqual(fake.sidecar.sentTo(FORGET_HOST), [{ host: "login" }, { host: "other" }]);
});

test("a terminal opens on each node once", async () => {
  fake.sidecar.on(TERMINAL, () => ({ title: "t", argv: ["ssh"], env: {} }));
  await run("eagleray.openTerminal", [...ROWS, ...ROWS.slice(0, 1)]);
  assert.deepEqual(
    fake.sidecar.sentTo(TERMINAL),
    ["a", "b", "own"].map((id) => ({ cluster: id, node_id: "" })),
  );
  assert.equal(editor.terminals.length, 3);
});
