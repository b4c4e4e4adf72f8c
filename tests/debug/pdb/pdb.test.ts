// “Open Ray pdb Session…”, against a fake sidecar and editor.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import { register } from "../../../extension/debug/pdb";
import { LIST, TERMINAL, type PdbSession } from "../../../extension/debug/pdb/messages";
import { CHANGED, REFRESH } from "../../../extension/clusters/messages";
import { type FakeApp } from "../../fakes/app";
import { registeredForEach } from "../../fakes/registered";
import { editor } from "../../fakes/vscode";
import { cluster, clustersOf } from "../workers/samples";

function session(cluster_id: string, id: string): PdbSession {
  const where = { file: "/r/train.py", line: 8, node: "10.0.0.1", pid: 9 };
  const more = { error: "ValueError: x", since: Date.now() / 1000 };
  return { id, cluster: cluster_id, name: "train()", ...where, ...more };
}

let fake: FakeApp;

registeredForEach(register, (made) => {
  fake = made;
  const clusters = [cluster({ id: "one" }), cluster({ id: "two" })];
  fake.sidecar.notify(CHANGED, clustersOf(clusters));
  fake.sidecar.on(TERMINAL, ({ id }) => ({ title: "pdb", argv: ["eagleray", "pdb", id], env: {} }));
});

test("the sessions of all clusters are offered, and the chosen one opens in a terminal", async () => {
  fake.sidecar.on(LIST, ({ cluster: id }) => ({ sessions: [session(id, `of ${id}`)], note: "" }));
  editor.answer = ({ options }) => {
    const items = options["items"] as { label: string; description: string }[];
    assert.match(
      items[0]?.description ?? "",
      /^train\(\) · ValueError: x · 10\.0\.0\.1 · pid 9 · 0 s$/,
    );
    assert.deepEqual(
      items.map(({ label }) => label),
      ["train.py:8", "train.py:8"],
    );
    return items[1];
  };
  await editor.run("eagleray.openPdbSession");
  assert.deepEqual(fake.sidecar.sentTo(TERMINAL), [{ cluster: "two", id: "of two" }]);
  assert.deepEqual(editor.terminals[0]?.options["shellArgs"], ["pdb", "of two"]);
  assert.equal(editor.terminals[0].options["isTransient"], true);
});

test("on a cluster’s row only that one is asked; where none waits it is said why", async () => {
  fake.sidecar.on(LIST, () => ({ sessions: [], note: "This Ray uses debugpy." }));
  await editor.run("eagleray.openPdbSession", { row: "cluster", cluster: cluster({ id: "two" }) });
  await editor.run("eagleray.openPdbSession", { row: "empty", cluster: cluster({ id: "one" }) });
  assert.deepEqual(fake.sidecar.sentTo(LIST), [{ cluster: "two" }, { cluster: "one" }]);
  assert.equal(editor.asked[0]?.text, "This Ray uses debugpy.");
});

test("a window that knows of no cluster looks for them first", async () => {
  fake.sidecar.on(LIST, () => ({ sessions: [], note: "" }));
  fake.sidecar.notify(CHANGED, clustersOf([]));
  fake.sidecar.on(REFRESH, () => clustersOf([]));
  await editor.run("eagleray.openPdbSession");
  assert.match(editor.asked[0]?.text ?? "", /You have no cluster.*“Connect to Cluster…”/);
  fake.sidecar.on(REFRESH, () => clustersOf([cluster({ id: "one" })]));
  await editor.run("eagleray.openPdbSession");
  assert.deepEqual(fake.sidecar.sentTo(LIST), [{ cluster: "one" }]);
});

test("a cluster that does not answer hides none of the others; when none answers it is an error", async () => {
  const lost = new EaglerayError("cluster-unreachable", "Nothing answers.", "Start it.");
  fake.sidecar.on(LIST, ({ cluster: id }) => {
    if (id === "one") {
      throw lost;
    }
    return { sessions: [session(id, "x")], note: "" };
  });
  editor.answer = ({ options }) => (options["items"] as object[] | undefined)?.[0];
  await editor.run("eagleray.openPdbSession");
  assert.equal(editor.terminals.length, 1);
  fake.sidecar.on(LIST, () => {
    throw lost;
  });
  await editor.run("eagleray.openPdbSession");
  assert.equal(editor.asked.at(-1)?.text, "Nothing answers. Start it.");
});

test("a terminal is opened only in a trusted workspace", async () => {
  editor.trusted = false;
  await editor.run("eagleray.openPdbSession");
  assert.equal(editor.asked[0]?.text, "Trust this workspace to open terminals.");
  assert.deepEqual(fake.sidecar.sent, []);
});
