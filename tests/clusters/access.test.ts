import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { headerOf } from "../../extension/clusters/credential_boxes";
import { CHANGED, REMOVE, SET_ACCESS } from "../../extension/clusters/messages";
import type { Row } from "../../extension/rows";
import { settled, type FakeApp } from "../fakes/app";
import { registerClusters, registeredForEach } from "../fakes/registered";
import { editor, type Asked } from "../fakes/vscode";
import { cluster, CLUSTER_ID, clustersOf } from "../debug/workers/samples";

const ADDED = cluster({ origin: "added" });
const ROW: Row = { row: "cluster", cluster: ADDED };

let fake: FakeApp;

registeredForEach(registerClusters, (made) => {
  fake = made;
  fake.sidecar.notify(CHANGED, clustersOf([ADDED]));
});

function kept(): unknown {
  const [text] = fake.secrets.values.values();
  return text === undefined ? undefined : JSON.parse(text);
}

test("a token is told to its cluster, kept as a secret, and goes with its cluster", async () => {
  editor.answer = () => "s3cret";
  await editor.run("eagleray.setToken", ROW);
  assert.deepEqual(fake.sidecar.sentTo(SET_ACCESS), [{ cluster: CLUSTER_ID, token: "s3cret" }]);
  assert.deepEqual(kept(), { token: "s3cret", headers: {}, ca_file: "" });
  await editor.run("eagleray.removeCluster", ROW);
  assert.deepEqual(fake.sidecar.sentTo(REMOVE), [{ cluster: CLUSTER_ID }]);
  assert.equal(fake.secrets.values.size, 0);
});

test("an empty token is forgotten; Escape changes nothing", async () => {
  editor.answer = () => "s3cret";
  await editor.run("eagleray.setToken", ROW);
  editor.answer = () => undefined;
  await editor.run("eagleray.setToken", ROW);
  assert.equal(fake.secrets.values.size, 1);
  editor.answer = () => "";
  await editor.run("eagleray.setToken", ROW);
  assert.equal(fake.secrets.values.size, 0);
});

test("a sidecar that starts again is told all of it; what it does not take is kept", async () => {
  editor.answer = () => "s3cret";
  await editor.run("eagleray.setToken", ROW);
  fake.sidecar.on(SET_ACCESS, () => {
    throw new EaglerayError("unknown-cluster", "There is no such cluster.");
  });
  fake.sidecar.started();
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(SET_ACCESS).at(-1), {
    cluster: CLUSTER_ID,
    token: "s3cret",
    headers: {},
    ca_file: "",
  });
  assert.deepEqual(kept(), { token: "s3cret", headers: {}, ca_file: "" });
  assert.doesNotMatch(fake.log.text, /s3cret/);
});

test("headers are added one by one beside the token, and taken back by their names", async () => {
  const picks = (label: string) => (asked: Asked) =>
    asked.kind === "pick"
      ? (asked.options["items"] as { label: string }[]).find((item) => item.label === label)
      : "X-Second: 2";
  editor.answer = ({ kind }) => (kind === "input" ? "X-First: a: b" : undefined);
  await editor.run("eagleray.setHeaders", ROW);
  editor.answer = picks("Add header…");
  await editor.run("eagleray.setHeaders", ROW);
  assert.deepEqual(kept(), {
    token: "",
    headers: { "X-First": "a: b", "X-Second": "2" },
    ca_file: "",
  });
  editor.answer = picks("Remove X-First");
  await editor.run("eagleray.setHeaders", ROW);
  assert.deepEqual(fake.sidecar.sentTo(SET_ACCESS).at(-1), {
    cluster: CLUSTER_ID,
    headers: { "X-Second": "2" },
  });
});

test("a certificate authority is a file, or the machine's again", async () => {
  editor.answer = ({ kind, options }) =>
    kind === "open" ? [{ fsPath: "/etc/ca.pem" }] : (options["items"] as unknown[])[0];
  await editor.run("eagleray.setCertificates", ROW);
  assert.deepEqual(kept(), { token: "", headers: {}, ca_file: "/etc/ca.pem" });
  editor.answer = ({ options }) => (options["items"] as unknown[])[1];
  await editor.run("eagleray.setCertificates", ROW);
  assert.equal(kept(), undefined);
});

const HEADERS: readonly (readonly [string, readonly [string, string] | undefined])[] = [
  ["Authorization: Basic YWJj", ["Authorization", "Basic YWJj"]],
  [" X-Key :  v ", ["X-Key", "v"]],
  ["X-Key", undefined],
  ["X-Key:", undefined],
  ["X Key: v", undefined],
  ["X-Key: v\nHost: other", undefined],
];

for (const [written, header] of HEADERS) {
  test(`the header ${JSON.stringify(written)} is ${header === undefined ? "refused" : "taken"}`, () => {
    assert.deepEqual(headerOf(written), header);
  });
}
