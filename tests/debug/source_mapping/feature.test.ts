/** The source-mapping feature with a fake editor and a fake sidecar: questions, answers, differences. */

import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import type { DebugConfiguration } from "vscode";

import { register } from "../../../extension/debug/source_mapping";
import { LocalFileQuestion } from "../../../extension/debug/source_mapping/local_file_question";
import {
  COMPARE,
  CONFIGURE,
  MAPPINGS,
  RESOLVE,
  SET_FOLDER,
  WORKER_FILE,
  type Resolution,
} from "../../../extension/debug/source_mapping/messages";
import { fakeApp, settled, type FakeApp } from "../../fakes/app";
import { debug, editor, Uri } from "../../fakes/vscode";

const CLUSTER = "http://c:1";
const STANDING = {
  type: "eagleray",
  name: "p",
  cluster: CLUSTER,
  worker: "a",
  path: "/r/x.py",
  local: "",
};

describe("the source-mapping feature", () => {
  let fakes: FakeApp;
  let resolutions: Resolution[];

  beforeEach(() => {
    editor.reset();
    debug.reset();
    fakes = fakeApp();
    resolutions = [
      { how: "ask", local: "", candidates: ["/w/a/x.py", "/w/b/x.py"] },
      { how: "setting", local: "/w/b/x.py", candidates: [] },
    ];
    fakes.sidecar.on(
      RESOLVE,
      () => resolutions.shift() ?? { how: "none", local: "", candidates: [] },
    );
    fakes.sidecar.on(SET_FOLDER, (said) => ({ cluster: said.cluster, mappings: [] }));
    fakes.sidecar.on(COMPARE, () => ({ verdict: "same" }));
    register(fakes.app);
    const question = new LocalFileQuestion(fakes.app);
    // As the debugging feature does, once the worker of the configuration is attached.
    debug.registerDebugConfigurationProvider("eagleray", {
      resolveDebugConfigurationWithSubstitutedVariables: (_, config) =>
        question.completed(config as unknown as DebugConfiguration),
    });
  });

  const begin = async (config: object = STANDING): Promise<string> => {
    await debug.startDebugging(undefined, { ...config });
    await settled();
    return String(debug.sessions.at(-1)?.configuration["local"]);
  };
  const pick =
    (label: RegExp) =>
    (asked: { options: Record<string, unknown> }): unknown =>
      (asked.options["items"] as { label: string }[]).find((item) => label.test(item.label));

  it("asks nothing when the sidecar knows the file", async () => {
    assert.equal(await begin({ ...STANDING, local: "/w/x.py" }), "/w/x.py");
    assert.deepEqual(editor.asked, []);
  });

  it("puts one question, and hands the answer on to be kept", async () => {
    editor.answer = pick(/b\/x\.py/);
    assert.equal(await begin(), "/w/b/x.py");
    assert.deepEqual(fakes.sidecar.sentTo(SET_FOLDER), [
      { cluster: CLUSTER, remote: "/r/x.py", local: "/w/b/x.py" },
    ]);
  });

  it("takes a folder for an answer", async () => {
    editor.answer = (asked) =>
      asked.kind === "open" ? [Uri.file("/w/b")] : pick(/Select the folder/)(asked);
    await begin();
    assert.deepEqual(fakes.sidecar.sentTo(SET_FOLDER), [
      { cluster: CLUSTER, remote: "/r/x.py", local: "/w/b" },
    ]);
  });

  it("begins all the same without an answer, and does not ask again for that folder", async () => {
    assert.equal(await begin(), "");
    assert.equal(await begin({ ...STANDING, path: "/r/y.py" }), "");
    assert.equal(editor.asked.length, 1);
    assert.equal(debug.sessions.length, 2);
  });

  it("says a difference once, and shows both versions", async () => {
    fakes.sidecar.on(COMPARE, () => ({ verdict: "different" }));
    editor.answer = () => "Show Difference";
    await begin({ ...STANDING, local: "/w/x.py" });
    await begin({ ...STANDING, local: "/w/x.py" });
    assert.equal(editor.asked.length, 1);
    const [diff] = editor.executed;
    assert.equal(diff?.command, "vscode.diff");
    assert.equal((diff.args[0] as Uri).scheme, "eagleray-worker");
    assert.equal((diff.args[1] as Uri).path, "/w/x.py");
  });

  it("says it once for the workers of a group, whose sessions begin together", async () => {
    fakes.sidecar.on(COMPARE, () => ({ verdict: "different" }));
    const config = { ...STANDING, local: "/w/x.py" };
    await Promise.all([begin(config), begin({ ...config, worker: "b" })]);
    assert.equal(editor.asked.length, 1);
  });

  it("compares anew after an answer that was not a difference", async () => {
    await begin({ ...STANDING, local: "/w/x.py" });
    await begin({ ...STANDING, local: "/w/x.py" });
    assert.equal(fakes.sidecar.sentTo(COMPARE).length, 2);
  });

  it("opens the worker's version of the file at which the session stopped", async () => {
    fakes.sidecar.on(WORKER_FILE, () => ({ text: "x = 1\n", truncated: false }));
    fakes.sidecar.on(MAPPINGS, () => ({ cluster: CLUSTER, mappings: [] }));
    await begin({ ...STANDING, local: "/w/x.py" });
    await editor.run("eagleray.openWorkerFile");
    assert.equal(editor.documents[0]?.text, "x = 1\n");
  });

  it("says in the document why the worker's file cannot be read", async () => {
    fakes.sidecar.on(WORKER_FILE, () => {
      throw new Error("gone");
    });
    await begin({ ...STANDING, local: "/w/x.py" });
    await editor.run("eagleray.openWorkerFile");
    assert.match(editor.documents[0]?.text ?? "", /^# Something went wrong in Eagleray/);
  });

  it("tells the sidecar the setting at its start and when it changes", async () => {
    editor.settings["eagleray.pathMappings"] = { "*": [{ remote: "/r", local: "/w" }] };
    fakes.sidecar.started();
    editor.change("eagleray.pathMappings", {});
    editor.change("eagleray.python", "x");
    await settled();
    assert.deepEqual(fakes.sidecar.sentTo(CONFIGURE), [
      { mappings: { "*": [{ remote: "/r", local: "/w" }] } },
      { mappings: {} },
    ]);
  });

  it("takes of a setting that was written by hand what can be meant", async () => {
    editor.settings["eagleray.pathMappings"] = {
      one: "/r",
      two: [null, { remote: "/r" }, { remote: "/r", local: "/w" }],
    };
    fakes.sidecar.started();
    await settled();
    assert.deepEqual(fakes.sidecar.sentTo(CONFIGURE), [
      { mappings: { one: [], two: [{ remote: "/r", local: "/w" }] } },
    ]);
  });

  it("reports a missing cluster to set a folder for", async () => {
    await editor.run("eagleray.mapSourceFolder");
    assert.match(editor.asked[0]?.text ?? "", /You have no cluster/);
  });

  it("goes to the line of a paused worker in the user's file", async () => {
    const location = { path: "/r/x.py", line: 7, function: "f", local: "/w/x.py" };
    const worker = { cluster: CLUSTER, worker_id: "a", name: "p", location };
    await editor.run("eagleray.goToLine", { row: "worker", worker });
    assert.deepEqual(editor.shown, [{ path: "/w/x.py", line: 6 }]);
  });

  it("goes to the line in the worker's own file if the user has no such file", async () => {
    const location = { path: "/r/x.py", line: 7, function: "f", local: "" };
    const worker = { cluster: CLUSTER, worker_id: "a", name: "p", location };
    await editor.run("eagleray.goToLine", { row: "worker", worker });
    assert.deepEqual(editor.shown, [{ path: "/r/x.py", line: 6 }]);
  });

  it("shows a message when the line of a worker is not known", async () => {
    const worker = { cluster: CLUSTER, worker_id: "a", name: "p", location: null };
    await editor.run("eagleray.goToLine", { row: "worker", worker });
    assert.deepEqual(editor.shown, []);
    assert.match(editor.asked[0]?.text ?? "", /This worker's line is unknown/);
  });

  it("sets a folder for the worker of a row", async () => {
    const location = { path: "/r/x.py", line: 1, function: "f", local: "" };
    const worker = { cluster: CLUSTER, worker_id: "a", name: "p", location };
    editor.answer = () => [Uri.file("/w")];
    await editor.run("eagleray.mapSourceFolder", { row: "worker", worker });
    assert.deepEqual(fakes.sidecar.sentTo(SET_FOLDER), [
      { cluster: CLUSTER, remote: "/r/x.py", local: "/w" },
    ]);
  });
});
