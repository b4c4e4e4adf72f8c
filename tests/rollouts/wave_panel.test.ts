// “Run 64 × 8”: what the tab requests, shows and opens.
import assert from "node:assert/strict";
import { test } from "node:test";

import { COMMANDS } from "../../extension/contributions";
import { LIST, type ListedServer } from "../../extension/rollouts/servers/messages";
import {
  CANCEL_WAVE,
  DEBUG_AGENT,
  STORE_ITEM,
  WAVE,
  WAVE_CHANGED,
  type WaveReport,
} from "../../extension/rollouts/messages";
import type { ToWavePage } from "../../extension/rollouts/wave_messages";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach, registerRollouts } from "../fakes/registered";
import { editor, Uri, type FakeWebviewPanel } from "../fakes/vscode";
import { FOLDER } from "../runs/samples";
import { waveReport } from "./wave_report";

const AGENT = { path: `${FOLDER}/agent.py`, name: "Solver" };
const SERVER: ListedServer = {
  ...{ name: "vllm", state: "ready", url: "http://x/v1", model: "m", run: "r", reason: "" },
};

let fake: FakeApp;
let end: (report: WaveReport) => void = () => undefined;

registeredForEach(registerRollouts, (made) => {
  fake = made;
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
  fake.sidecar.on(LIST, () => ({ servers: [SERVER] }));
  fake.sidecar.on(STORE_ITEM, () => ({ path: "/h/agent-items/aa.jsonl" }));
  fake.sidecar.on(CANCEL_WAVE, () => ({}));
  fake.sidecar.on(DEBUG_AGENT, () => ({ run: "0123456789ab" }));
  fake.sidecar.on(WAVE, () => new Promise((resolve) => (end = resolve)) as unknown as WaveReport);
});

async function opened(): Promise<FakeWebviewPanel> {
  editor.answer = ({ kind, options }) => {
    const items = options["items"] as readonly { readonly label: string }[] | undefined;
    return kind === "pick" ? items?.find(({ label }) => label.includes("Enter an Item")) : "[1, 2]";
  };
  await editor.commands.get(COMMANDS.runAgentWave)?.(AGENT);
  const panel = editor.panels.at(-1);
  assert.ok(panel);
  await says(panel, { kind: "ready" });
  return panel;
}

async function says(panel: FakeWebviewPanel, message: object): Promise<void> {
  panel.webview.says(message);
  await settled();
}

function kinds(panel: FakeWebviewPanel): string[] {
  return (panel.webview.posted as ToWavePage[]).map(({ kind }) => kind);
}

function wave(): string {
  return (fake.sidecar.sentTo(WAVE).at(-1) as { wave: string }).wave;
}

test("a wave takes the whole file, without a question for its items", async () => {
  const panel = await opened();
  assert.equal(panel.title, "Solver, 64 × 8");
  const {
    wave: name,
    python,
    ...request
  } = fake.sidecar.sentTo(WAVE)[0] as Record<string, unknown>;
  assert.match(String(name), /^[0-9a-f-]{8,40}$/);
  assert.equal(typeof python, "string");
  assert.deepEqual(request, {
    ...{ target: `${AGENT.path}:Solver`, data: "/h/agent-items/aa.jsonl", server: "vllm" },
    ...{ cwd: FOLDER, groups: 64, group_size: 8, mode: "inline", timeout_s: 600 },
    arguments: "",
  });
});

test("progress and report of this wave are shown, not another's", async () => {
  const panel = await opened();
  const { progress } = waveReport();
  fake.sidecar.notify(WAVE_CHANGED, { wave: "another", progress });
  fake.sidecar.notify(WAVE_CHANGED, { wave: wave(), progress });
  assert.deepEqual(kinds(panel), ["wave", "progress"]);
  end(waveReport());
  await settled();
  assert.deepEqual(kinds(panel), ["wave", "progress", "progress", "report"]);
});

test("cancelling ends the wave of the page, which can be run again", async () => {
  const panel = await opened();
  const first = wave();
  await says(panel, { kind: "cancel" });
  assert.deepEqual(fake.sidecar.sentTo(CANCEL_WAVE), [{ wave: first }]);
  end(waveReport({ is_cancelled: true }));
  await settled();
  await says(panel, { kind: "again" });
  assert.equal(fake.sidecar.sentTo(WAVE).length, 2);
  assert.notEqual(wave(), first);
});

test("a run opens its trace, at its line", async () => {
  const panel = await opened();
  end(waveReport());
  await settled();
  await says(panel, { kind: "trace", trace: 5 });
  const trace = editor.panels.at(-1);
  assert.ok(trace);
  assert.equal(trace.title, "Trace of Solver, 64 × 8");
  await says(trace, { kind: "ready" });
  const [texts] = trace.webview.posted as { path: string; item: number; name: string }[];
  assert.deepEqual(
    [texts?.path, texts?.item, texts?.name],
    ["/h/waves/aa.jsonl", 5, "Trace of Solver, 64 × 8"],
  );
});

test("the item of a run is debugged with the same server", async () => {
  const panel = await opened();
  await says(panel, { kind: "debug", item: 2 });
  const [request] = fake.sidecar.sentTo(DEBUG_AGENT) as { number: number; server: string }[];
  assert.deepEqual([request?.number, request?.server], [2, "vllm"]);
});
