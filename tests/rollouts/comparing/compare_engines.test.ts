// “Compare Engines…”: the sides that can be chosen, the request, and the tab.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import { COMMANDS } from "../../../extension/contributions";
import { LIST } from "../../../extension/rollouts/servers/messages";
import type { ToComparisonPage } from "../../../extension/rollouts/comparison_messages";
import {
  COMPARE,
  COMPARISON_MARKDOWN,
  SAVE_COMPARISON,
  type ComparisonRequest,
} from "../../../extension/rollouts/messages";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach, registerRollouts } from "../../fakes/registered";
import { editor, FakeWebviewPanel, Uri } from "../../fakes/vscode";
import { comparison, deltaRow } from "./comparisons";

const PROMPTS = "/w/prompts.jsonl";

let fake: FakeApp;

registeredForEach(registerRollouts, (made) => {
  fake = made;
  const url = "http://127.0.0.1:8000/v1";
  const server = {
    name: "vllm",
    state: "ready" as const,
    url,
    model: "Qwen/Q",
    run: "",
    reason: "",
  };
  fake.sidecar.on(LIST, () => ({
    servers: [server, { ...server, name: "old", state: "stopped" as const }],
  }));
  fake.sidecar.on(COMPARE, () => comparison());
});

/** Answers each question by the label of an item, a path or a text. */
async function compare(...answers: readonly string[]): Promise<readonly string[]> {
  const left = [...answers];
  editor.asked = [];
  const labels: string[] = [];
  editor.answer = async ({ kind, options }) => {
    const answer = left.shift();
    if (answer === undefined) {
      return undefined;
    }
    if (kind === "open") {
      return [Uri.file(answer)];
    }
    if (kind !== "pick") {
      return answer;
    }
    const items = (await options["items"]) as readonly { label: string }[];
    labels.push(...items.map(({ label }) => label));
    return items.find(({ label }) => label.startsWith(answer));
  };
  await editor.commands.get(COMMANDS.compareEngines)?.();
  await settled();
  return labels;
}

function requests(): readonly Omit<ComparisonRequest, "python">[] {
  return (fake.sidecar.sentTo(COMPARE) as ComparisonRequest[]).map(({ a, b, data }) => ({
    a,
    b,
    ...(data === undefined ? {} : { data }),
  }));
}

function posted(panel: FakeWebviewPanel): readonly ToComparisonPage[] {
  return panel.webview.posted as ToComparisonPage[];
}

async function says(panel: FakeWebviewPanel, kind: string): Promise<void> {
  panel.webview.says({ kind });
  await settled();
}

test("a server is compared with a model in torch", async () => {
  const labels = await compare("vllm", "Model", "/models/policy", "bfloat16", PROMPTS);
  assert.ok(!labels.includes("old"));
  const b = "torch:/models/policy?dtype=bfloat16";
  assert.deepEqual(requests(), [{ a: "vllm", b, data: PROMPTS }]);
  const [panel] = editor.panels;
  assert.ok(panel);
  assert.equal(panel.title, "vllm and torch:policy (bfloat16)");
  await says(panel, "ready");
  const message = posted(panel).find(({ kind }) => kind === "comparison");
  assert.ok(message?.kind === "comparison");
  assert.deepEqual([message.data, message.comparison], ["prompts.jsonl", comparison()]);
});

test("a dump has its prompts, and sides that were chosen come first", async () => {
  await compare("URL", "http://10.0.0.7:30000/v1", "Dump", "/w/train_data_step3.jsonl");
  const expected = { a: "http://10.0.0.7:30000/v1", b: "/w/train_data_step3.jsonl", data: "" };
  assert.deepEqual(requests(), [expected]);
  const labels = await compare("/w/train", "http://10");
  assert.deepEqual(labels.slice(0, 3), ["vllm", expected.b, expected.a]);
  assert.deepEqual(requests().at(-1), { a: expected.b, b: expected.a, data: "" });
});

test("nothing is compared when a question has no answer", async () => {
  await compare("vllm");
  await compare("vllm", "vllm");
  assert.deepEqual([requests(), editor.panels], [[], []]);
});

test("the same engines are compared again in the same tab", async () => {
  await compare("vllm", "vllm", PROMPTS);
  const [panel] = editor.panels;
  assert.ok(panel);
  await says(panel, "ready");
  fake.sidecar.on(COMPARE, () => comparison({ title: "Consistent" }));
  await says(panel, "again");
  const kinds = posted(panel).map(({ kind }) => kind);
  assert.deepEqual(kinds.slice(-4), ["busy", "comparison", "busy", "busy"]);
  await compare("vllm", "vllm", PROMPTS);
  assert.equal(editor.panels.length, 1);
  assert.equal(requests().length, 3);
});

test("a failure is shown, and the page keeps what it has", async () => {
  await compare("vllm", "vllm", PROMPTS);
  const [panel] = editor.panels;
  assert.ok(panel);
  await says(panel, "ready");
  fake.sidecar.on(COMPARE, () => {
    throw new EaglerayError("engine-slow", "vllm took longer than 600 s.", "Check its log.");
  });
  editor.asked = [];
  await says(panel, "again");
  assert.equal(editor.asked.at(-1)?.text, "vllm took longer than 600 s. Check its log.");
  const [last] = posted(panel).slice(-1);
  assert.deepEqual(last, { kind: "busy", isOn: false });
});

test("a comparison is saved as JSON, and copied as Markdown", async () => {
  await compare("vllm", "vllm", PROMPTS);
  const [panel] = editor.panels;
  assert.ok(panel);
  await says(panel, "ready");
  const { stored } = comparison();
  fake.sidecar.on(SAVE_COMPARISON, () => ({}));
  fake.sidecar.on(COMPARISON_MARKDOWN, () => ({ text: "**Consistent**" }));
  editor.answer = ({ kind }) => (kind === "save" ? Uri.file("/w/step3.json") : undefined);
  await says(panel, "save");
  assert.deepEqual(fake.sidecar.sentTo(SAVE_COMPARISON), [{ stored, path: "/w/step3.json" }]);
  await says(panel, "copyMarkdown");
  assert.deepEqual(fake.sidecar.sentTo(COMPARISON_MARKDOWN), [{ stored }]);
  assert.equal(editor.clipboard, "**Consistent**");
  assert.deepEqual(
    posted(panel).flatMap((message) => (message.kind === "announcement" ? [message.sentence] : [])),
    ["Saved as step3.json.", "Copied as Markdown."],
  );
});

test("a comparison isn't saved when the dialog is closed", async () => {
  await compare("vllm", "vllm", PROMPTS);
  const [panel] = editor.panels;
  assert.ok(panel);
  editor.answer = () => undefined;
  await says(panel, "save");
  assert.deepEqual(fake.sidecar.sentTo(SAVE_COMPARISON), []);
});

test("a reload restores a comparison, unless it is too large to be stored", async () => {
  await compare("vllm", "vllm", PROMPTS);
  const [panel] = editor.panels;
  assert.ok(panel);
  await says(panel, "ready");
  const message = posted(panel).find(({ kind }) => kind === "comparison");
  assert.ok(message?.kind === "comparison" && message.stored !== undefined);
  const stored = { ...message.stored, comparison: message.comparison };
  const restored = new FakeWebviewPanel("eagleray.comparison", "");
  await editor.serializers
    .get("eagleray.comparison")
    ?.deserializeWebviewPanel(restored, { stored });
  await says(restored, "ready");
  assert.ok(posted(restored).some(({ kind }) => kind === "comparison"));

  const cells = Array.from({ length: 128 }, () => 0.5);
  const rows = Array.from({ length: 200 }, (_, at) => deltaRow(at + 1, cells));
  fake.sidecar.on(COMPARE, () => comparison({ rows }));
  await says(panel, "again");
  const large = posted(panel).findLast(({ kind }) => kind === "comparison");
  assert.ok(large?.kind === "comparison");
  assert.equal(large.stored, undefined);
});
