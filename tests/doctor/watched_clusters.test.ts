// A cluster that the user watches: its problems, its place in the status bar, and when it is followed.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { CHANGED as CLUSTERS } from "../../extension/clusters/messages";
import { register } from "../../extension/doctor";
import {
  DIAGNOSE,
  FIRST_CLUSTER_PROBLEM,
  type FirstProblem,
} from "../../extension/doctor/messages";
import type { ToDiagnosisPage } from "../../extension/doctor/page_messages";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach } from "../fakes/registered";
import { editor, Uri, type FakeWebviewPanel } from "../fakes/vscode";
import { cluster, clustersOf } from "../debug/workers/samples";
import { cause, diagnosis, evidence } from "./diagnoses";

const CLUSTER = cluster();
const COPY = "/home/me/doctor-logs/x/10.0.0.4/worker-3a.err";
const OOM = cause({ evidence: [evidence({ path: COPY, line: 12 })] });
const LOGS = { name: CLUSTER.name, target: { cluster: CLUSTER.id } };

let fake: FakeApp;
/** Answers of the sidecar, the first first; without any it waits until it is cancelled. */
let answers: FirstProblem[] = [];
let cancelled = 0;

registeredForEach(register, (made) => {
  fake = made;
  answers = [];
  cancelled = 0;
  fake.sidecar.on(DIAGNOSE, () => diagnosis());
  fake.sidecar.on(FIRST_CLUSTER_PROBLEM, (_, { cancel }) => {
    const answer = answers.shift();
    return answer ?? (waiting(cancel) as unknown as FirstProblem);
  });
  fake.sidecar.notify(CLUSTERS, clustersOf([CLUSTER]));
});

function waiting(
  cancel: { onCancellationRequested(done: () => void): unknown } | undefined,
): Promise<never> {
  return new Promise((_, reject) => {
    cancel?.onCancellationRequested(() => {
      cancelled += 1;
      reject(new EaglerayError("cancelled", "Cancelled."));
    });
  });
}

async function opened(
  argument: object = { row: "cluster", cluster: CLUSTER },
): Promise<FakeWebviewPanel> {
  await editor.run("eagleray.diagnose", argument);
  const panel = editor.panels.at(-1);
  assert.ok(panel);
  await says(panel, { kind: "ready" });
  return panel;
}

async function says(panel: FakeWebviewPanel, message: object): Promise<void> {
  panel.webview.says(message);
  await settled();
  await settled();
}

function isWatching(panel: FakeWebviewPanel): boolean | null | undefined {
  const posted = panel.webview.posted as ToDiagnosisPage[];
  const message = posted.findLast(({ kind }) => kind === "watching");
  return message?.kind === "watching" ? message.isOn : undefined;
}

const bar = (): string[] => editor.statusBar.filter(({ shown }) => shown).map(({ text }) => text);
const requests = (): readonly unknown[] => fake.sidecar.sentTo(FIRST_CLUSTER_PROBLEM);
const lines = (): number[] =>
  [...editor.diagnostics].flatMap(({ files }) =>
    (files.get(COPY) ?? []).map(({ range }) => range.startLine),
  );

test("no cluster is watched before the user asks, and logs can’t be", async () => {
  assert.equal(isWatching(await opened()), false);
  assert.deepEqual([requests(), bar()], [[], []]);
  assert.equal(isWatching(await opened(Uri.file("/logs"))), null);
});

test("a watched cluster has its place in the status bar until it is watched no longer", async () => {
  const panel = await opened();
  await says(panel, { kind: "watch", isOn: true });
  assert.deepEqual([bar(), isWatching(panel)], [["$(eye) local (8265)"], true]);
  assert.deepEqual(requests(), [{ cluster: CLUSTER.id, reported: [] }]);
  await says(panel, { kind: "watch", isOn: false });
  assert.deepEqual([bar(), isWatching(panel), cancelled], [[], false, 1]);
});

test("rules of a workspace that the user trusts count for a watched cluster", async () => {
  editor.folders = [{ uri: Uri.file("/work/rl"), name: "rl", index: 0 }];
  await says(await opened(), { kind: "watch", isOn: true });
  assert.deepEqual(requests(), [{ cluster: CLUSTER.id, reported: [], rule_folders: ["/work/rl"] }]);
});

test("a problem has one message, its line, and the status bar; its rule counts no more", async () => {
  answers = [{ cause: OOM }];
  await says(await opened(), { kind: "watch", isOn: true });
  assert.deepEqual(
    editor.asked.map(({ text }) => text),
    ["local (8265): A GPU ran out of memory: 2.00 GiB needed."],
  );
  assert.deepEqual([lines(), bar()], [[11], ["$(pulse) local (8265)"]]);
  assert.deepEqual(requests().at(-1), { cluster: CLUSTER.id, reported: ["cuda-oom"] });
});

test("“Diagnose” of the message diagnoses that cluster", async () => {
  answers = [{ cause: OOM }];
  editor.answer = () => "Diagnose";
  await says(await opened(), { kind: "watch", isOn: true });
  assert.deepEqual(editor.executed.at(-1), { command: "eagleray.diagnose", args: [LOGS] });
});

test("“Stop Watching” of the message ends the watch and takes its problems away", async () => {
  answers = [{ cause: OOM }];
  editor.answer = () => "Stop Watching";
  const panel = await opened();
  await says(panel, { kind: "watch", isOn: true });
  assert.deepEqual([lines(), bar(), isWatching(panel)], [[], [], false]);
});

test("a cluster that is lost is followed again once it is connected", async () => {
  await says(await opened(), { kind: "watch", isOn: true });
  fake.sidecar.notify(CLUSTERS, clustersOf([cluster({ state: "unreachable" })]));
  await settled();
  assert.deepEqual([cancelled, requests().length], [1, 1]);
  fake.sidecar.notify(CLUSTERS, clustersOf([CLUSTER]));
  await settled();
  assert.equal(requests().length, 2);
});

test("the end of the window ends the watch", async () => {
  await says(await opened(), { kind: "watch", isOn: true });
  for (const owned of fake.app.context.subscriptions) {
    owned.dispose();
  }
  await settled();
  assert.equal(cancelled, 1);
});
