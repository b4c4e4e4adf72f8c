// “Diagnose” from rows, the explorer and the palette, its problems, and what the page of a diagnosis asks of the editor.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { CHANGED as CLUSTERS } from "../../extension/clusters/messages";
import { register } from "../../extension/doctor";
import { DIAGNOSE } from "../../extension/doctor/messages";
import type { ToDiagnosisPage } from "../../extension/doctor/page_messages";
import { PLAIN } from "../../extension/runs/draft";
import { keepRun } from "../../extension/runs/last_options";
import { LIST as RUNS } from "../../extension/runs/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach } from "../fakes/registered";
import { DiagnosticSeverity, editor, FakeWebviewPanel, Uri } from "../fakes/vscode";
import { aRun } from "../runs/samples";
import { cluster, clustersOf, job } from "../debug/workers/samples";
import { cause, diagnosis, evidence } from "./diagnoses";

const COMMAND = "eagleray.diagnose";
const EDIT = "eagleray.editAndRerun";
const CLUSTER = cluster();
const LOG = "/logs/worker-3a.err";

let fake: FakeApp;

registeredForEach(register, (made) => {
  fake = made;
  fake.sidecar.on(DIAGNOSE, () => diagnosis());
  fake.sidecar.on(RUNS, () => ({ runs: [] }));
});

async function opened(...args: unknown[]): Promise<FakeWebviewPanel> {
  await editor.run(COMMAND, ...args);
  const panel = editor.panels.at(-1);
  assert.ok(panel);
  await says(panel, { kind: "ready" });
  return panel;
}

async function says(panel: FakeWebviewPanel, message: object): Promise<void> {
  panel.webview.says(message);
  await settled();
}

function shown(panel: FakeWebviewPanel): Extract<ToDiagnosisPage, { kind: "diagnosis" }> {
  const posted = panel.webview.posted as ToDiagnosisPage[];
  const message = posted.findLast(({ kind }) => kind === "diagnosis");
  assert.ok(message?.kind === "diagnosis");
  return message;
}

/** The arguments with which the options of a run were opened. */
function edited(): unknown[] {
  return editor.executed.filter(({ command }) => command === EDIT).map(({ args }) => args);
}

/** The entries of the list of problems for a file: severity, line from 0, and code. */
function problems(path: string): unknown[] {
  return [...editor.diagnostics]
    .flatMap(({ files }) => files.get(path) ?? [])
    .map(({ severity, range, code }) => [severity, range.startLine, code]);
}

test("the row of a run is diagnosed without a question", async () => {
  const panel = await opened({ row: "run", run: aRun() }, undefined);
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [{ run_id: aRun().id }]);
  assert.deepEqual(editor.asked, []);
  assert.equal(panel.title, "Diagnosis: train.py --steps 3");
  assert.equal(shown(panel).stored.diagnosis.causes[0]?.id, "cuda-oom");
});

test("the row of a cluster is diagnosed, and one of its workers leads to the cluster", async () => {
  await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  await opened({ row: "group", cluster: CLUSTER.id, title: "train", workers: [] }, undefined);
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [
    { cluster: CLUSTER.id },
    { cluster: CLUSTER.id },
  ]);
  assert.equal(editor.panels.length, 1);
});

test("a job is connected first, then its cluster is diagnosed", async () => {
  const own = cluster({ id: "ssh://login/slurm://12", name: "job 12" });
  editor.builtin.set("eagleray.connectJob", () => own);
  await opened({ row: "job", job: job(), connecting: false });
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [{ cluster: own.id }]);
});

test("a job without Ray, or that doesn't run, is diagnosed by its output and nodes", async () => {
  const panel = await opened({ row: "job", job: job({ ray: "none" }), connecting: false });
  const target = { slurm_job: "ssh://login/slurm://12" };
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [target]);
  panel.close();
  await opened({ row: "job", job: job({ state: "over" }), connecting: false });
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [target, target]);
  assert.ok(!editor.executed.some(({ command }) => command === "eagleray.connectJob"));
});

test("a job that can't be connected is not diagnosed", async () => {
  await editor.run(COMMAND, { row: "job", job: job(), connecting: false });
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), []);
  assert.deepEqual(editor.asked, []);
});

test("a check of a node isn't a problem of a file", async () => {
  const limits = evidence({ path: "/proc/PID/limits", line: 0, text: "1024" });
  fake.sidecar.on(DIAGNOSE, () => diagnosis({ causes: [cause({ evidence: [limits] })] }));
  await opened(Uri.file("/logs"));
  assert.deepEqual(problems("/proc/PID/limits"), []);
});

test("all files that are selected in the explorer are diagnosed", async () => {
  const panel = await opened(Uri.file("/logs"), [Uri.file("/logs"), Uri.file("/w/a.log")]);
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [{ paths: ["/logs", "/w/a.log"] }]);
  assert.equal(panel.title, "Diagnosis: logs");
});

test("the palette asks which cluster or run, or for logs", async () => {
  fake.sidecar.notify(CLUSTERS, clustersOf([CLUSTER]));
  fake.sidecar.on(RUNS, () => ({ runs: [aRun(), aRun({ id: "2", state: "failed", code: 1 })] }));
  const offered: string[] = [];
  editor.answer = ({ options }) => {
    const items = options["items"] as { label: string; description: string }[];
    offered.push(...items.map(({ label, description }) => `${label} ${description}`.trim()));
    return items[2];
  };
  await opened();
  assert.equal(offered[0], "local (8265) cluster");
  assert.deepEqual(offered.slice(3), ["This Machine checks before a run", "Log File or Folder…"]);
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [{ run_id: "2" }]);
});

test("without a cluster or run the palette offers this machine and logs", async () => {
  editor.answer = ({ kind, options }) =>
    kind === "open" ? [Uri.file("/logs")] : (options["items"] as unknown[])[1];
  await opened();
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [{ paths: ["/logs"] }]);
  editor.answer = ({ options }) => (options["items"] as unknown[])[0];
  await opened();
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE).at(-1), { before: true, python: "" });
});

test("an error about this machine leads to its checks, without a question", async () => {
  await opened("machine");
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [{ before: true, python: "" }]);
});

test("checks that the run options have made are shown, and made again only on request", async () => {
  const target = { before: true, python: "/opt/python" };
  const named = { name: "This machine", target, diagnosis: diagnosis(), madeAt: 1 };
  const panel = await opened(named);
  assert.equal(shown(panel).stored.madeAt, 1);
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), []);
  editor.trusted = false;
  await says(panel, { kind: "again" });
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [], "a Python of the workspace isn’t started");
  editor.trusted = true;
  await says(panel, { kind: "again" });
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [target]);
});

test("an error of the sidecar is shown, and opens no page", async () => {
  fake.sidecar.on(DIAGNOSE, () => {
    throw new EaglerayError("no-logs", "No log file is in /logs.", "");
  });
  await editor.run(COMMAND, Uri.file("/logs"));
  assert.deepEqual(editor.panels, []);
  assert.match(editor.asked.at(-1)?.text ?? "", /No log file is in/);
});

test("causes are errors in the list of problems, and what follows is information", async () => {
  const panel = await opened(Uri.file("/logs"));
  assert.deepEqual(problems(LOG), [[DiagnosticSeverity.Error, 811, "cuda-oom"]]);
  assert.deepEqual(problems("/logs/worker-7b.err"), [
    [DiagnosticSeverity.Information, 89, "gloo-timeout"],
  ]);
  assert.deepEqual(problems("/logs/driver.log"), [[DiagnosticSeverity.Warning, 2, undefined]]);
  panel.close();
  assert.deepEqual(problems(LOG), [], "they end with their tab");
});

test("a line of the page opens the log at that line", async () => {
  const panel = await opened(Uri.file("/logs"));
  await says(panel, { kind: "open", path: LOG, line: 812 });
  const [uri, options] = editor.executed.at(-1)?.args as [
    Uri,
    { selection: { startLine: number } },
  ];
  assert.equal(editor.executed.at(-1)?.command, "vscode.open");
  assert.deepEqual([uri.path, options.selection.startLine], [LOG, 811]);
});

test("a fix is copied", async () => {
  const panel = await opened(Uri.file("/logs"));
  await says(panel, { kind: "copy", text: "ulimit -Sn 65535" });
  assert.equal(editor.clipboard, "ulimit -Sn 65535");
});

test("“Fix…” opens the options of the diagnosed run with the settings of the cause", async () => {
  fake.sidecar.on(RUNS, () => ({ runs: [aRun()] }));
  editor.builtin.set(EDIT, () => undefined);
  const panel = await opened({ row: "run", run: aRun() }, undefined);
  await says(panel, { kind: "fix", id: "cuda-oom" });
  const row = { row: "run", run: aRun(), settings: cause().changes };
  assert.deepEqual(edited(), [[row]]);
  await says(panel, { kind: "fix", id: "no such cause" });
  assert.equal(edited().length, 1);
});

test("“Fix…” of other logs asks for a run that this workspace has started", async () => {
  const own = aRun({ id: "own" });
  fake.sidecar.on(RUNS, () => ({ runs: [aRun({ id: "of a terminal" }), own] }));
  editor.builtin.set(EDIT, () => undefined);
  const panel = await opened(Uri.file("/logs"));
  await says(panel, { kind: "fix", id: "cuda-oom" });
  assert.match(editor.asked.at(-1)?.text ?? "", /no run to fix/);
  await keepRun(fake.app, "own", "/work/train.py", PLAIN);
  editor.answer = ({ options }) => (options["items"] as unknown[])[0];
  await says(panel, { kind: "fix", id: "cuda-oom" });
  assert.deepEqual(edited(), [[{ row: "run", run: own, settings: cause().changes }]]);
});

test("another diagnosis of the same logs replaces the first, with its problems", async () => {
  const panel = await opened(Uri.file("/logs"));
  fake.sidecar.on(DIAGNOSE, () => diagnosis({ sentence: "Nothing.", causes: [], unknown: [] }));
  await says(panel, { kind: "again" });
  assert.equal(shown(panel).stored.diagnosis.sentence, "Nothing.");
  assert.equal(editor.panels.length, 1);
  assert.deepEqual(problems(LOG), []);
});

test("a diagnosis is restored with its window, one of another version is not", async () => {
  const { stored } = shown(await opened(Uri.file("/logs")));
  const restore = async (state: unknown): Promise<FakeWebviewPanel> => {
    const panel = new FakeWebviewPanel();
    await editor.serializers.get("eagleray.diagnosis")?.deserializeWebviewPanel(panel, state);
    return panel;
  };
  const restored = await restore({ stored });
  await says(restored, { kind: "ready" });
  assert.deepEqual(shown(restored).stored, stored);
  assert.equal((await restore({ stored: { ...stored, version: "0" } })).isClosed, true);
  assert.equal((await restore(undefined)).isClosed, true);
});

test("rules of a team count in a workspace that the user trusts, in no other", async () => {
  editor.folders = [{ uri: Uri.file("/work/rl"), name: "rl", index: 0 }];
  const path = "/work/rl/.eagleray/doctor-rules.json";
  editor.files.set(path, "{}");
  const target = { paths: [LOG] };
  editor.trusted = false;
  const restricted = await opened(Uri.file(LOG));
  const { unchecked } = shown(restricted).stored.diagnosis.checked;
  const reason = "Trust this workspace to use its rules.";
  assert.deepEqual(unchecked[0], { path, reason });
  editor.trusted = true;
  const panel = await opened(Uri.file(LOG));
  assert.ok(!shown(panel).stored.diagnosis.checked.unchecked.some((file) => file.path === path));
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [
    target,
    { ...target, rule_folders: ["/work/rl"] },
  ]);
  // A tab that is restored may belong to a workspace which isn't trusted any more.
  assert.deepEqual(shown(panel).stored.target, target);
});
