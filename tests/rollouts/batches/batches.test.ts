// “Save Batch…” and “Replay Batch…”: what is shown, what is asked before code is executed, and what is started.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import { COMMANDS } from "../../../extension/contributions";
import { batchText } from "../../../extension/rollouts/batch_text";
import {
  BATCH,
  REPLAY,
  SAVE_BATCH,
  type BatchFile,
  type DescribedBatch,
} from "../../../extension/rollouts/messages";
import type { RunRequest } from "../../../extension/runs/messages";
import { PREPARE } from "../../../extension/runs/presets/messages";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach, registerRollouts } from "../../fakes/registered";
import { editor, Uri } from "../../fakes/vscode";
import { proposal } from "../../runs/samples";

const BATCH_FILE = "/w/batch.pt";
const CONFIG = "/w/gsm8k_grpo.yaml";
const ARGV = ["torchrun", "--nproc-per-node=1", "/w/replay.py", "--config", CONFIG];

let fake: FakeApp;

registeredForEach(registerRollouts, (made) => {
  fake = made;
  fake.sidecar.on(BATCH, () => described());
  fake.sidecar.on(SAVE_BATCH, ({ batch }) => ({ path: batch, rows: 6, skipped: 2, tensors: {} }));
  fake.sidecar.on(REPLAY, ({ script = "" }) => ({ script, argv: ARGV }));
  fake.sidecar.on(PREPARE, () => proposal());
});

function described(loaded = "weights_only"): DescribedBatch {
  const values = { nan: 0, infinite: 0, least: 0, most: 41, mean: 12.3456789, std: 1 };
  const tensor = { bytes: 96, row_sums: null, ...values };
  const sums = { total: 6, least: 2, most: 4, empty: 0 };
  return {
    summary: {
      torch: "2.13.0",
      loaded,
      kind: "dict",
      names: loaded === "unpickled" ? ["verl.protocol.DataProto"] : [],
      tensors: [
        { ...tensor, name: "input_ids", shape: [2, 6], dtype: "int32" },
        { ...tensor, name: "loss_mask", shape: [2, 6], dtype: "int32", most: 1, row_sums: sums },
      ],
      values: [{ name: "meta.step", type: "int", text: "3" }],
      masked: [{ name: "logprobs", count: 6, least: -2.5, most: 0, mean: -1, std: 0.5 }],
      left_out: 3,
    },
    findings: ["rewards is 1 everywhere."],
  };
}

/** Answers the question of each kind or text, and notes them. */
async function run(
  command: string,
  argument: Uri | undefined,
  answers: Readonly<Record<string, unknown>>,
): Promise<void> {
  editor.answer = async ({ kind, text, options }) => {
    const answer = answers[text] ?? answers[kind];
    if (kind === "pick") {
      const items = (await options["items"]) as readonly { label: string }[];
      return items.find(({ label }) => label === answer);
    }
    return answer;
  };
  await (argument === undefined ? editor.run(command) : editor.run(command, argument, [argument]));
  await settled();
}

const REPLAYED = {
  "Select the Configuration of the Training": [Uri.file(CONFIG)],
  "replay.py trains on the batch. Start it?": undefined as string | undefined,
};

function read(): readonly boolean[] {
  return (fake.sidecar.sentTo(BATCH) as BatchFile[]).map(({ unpickle = false }) => unpickle);
}

test("a batch of a dump is saved, and its summary is shown", async () => {
  await run(COMMANDS.saveBatch, Uri.file("/w/12.jsonl"), { save: Uri.file(BATCH_FILE) });
  const [saved] = fake.sidecar.sentTo(SAVE_BATCH) as { path: string; batch: string }[];
  assert.deepEqual([saved?.path, saved?.batch], ["/w/12.jsonl", BATCH_FILE]);
  assert.match(editor.documents.at(-1)?.text ?? "", /input_ids/);
  const sentence = "Saved 6 trajectories. 2 have no token ids or reward.";
  assert.equal(editor.asked.at(-1)?.text, sentence);
});

test("a batch is summed up, and its script opened and debugged", async () => {
  await run(COMMANDS.replayBatch, Uri.file(BATCH_FILE), { ...REPLAYED, info: "Debug" });
  assert.deepEqual(read(), [false]);
  const [request] = fake.sidecar.sentTo(REPLAY) as { unpickle: boolean; script: string }[];
  assert.deepEqual([request?.unpickle, request?.script], [false, "/w/replay.py"]);
  const shown = editor.documents.map(({ uri }) => uri.path);
  assert.deepEqual(shown, [`${BATCH_FILE}.txt`, "/w/replay.py"]);
  const [prepared] = fake.sidecar.sentTo(PREPARE) as RunRequest[];
  assert.deepEqual([prepared?.path, prepared?.args], ["", ARGV]);
  assert.notEqual(prepared?.workspace, "");
});

test("a run stops nowhere, and nothing starts without an answer", async () => {
  await run(COMMANDS.replayBatch, Uri.file(BATCH_FILE), { ...REPLAYED, info: "Run" });
  const [prepared] = fake.sidecar.sentTo(PREPARE) as RunRequest[];
  assert.equal(prepared?.workspace, "");
  await run(COMMANDS.replayBatch, Uri.file(BATCH_FILE), REPLAYED);
  assert.equal(fake.sidecar.sentTo(PREPARE).length, 1);
});

test("code of a file is executed only after a question that names it", async () => {
  fake.sidecar.on(BATCH, ({ unpickle }) => {
    if (unpickle !== true) {
      const message = "Reading /w/batch.pt would execute code: verl.protocol.DataProto.";
      throw new EaglerayError("needs-unpickle", message, "Unpickle it only if you trust it.");
    }
    return described("unpickled");
  });
  await run(COMMANDS.replayBatch, Uri.file(BATCH_FILE), REPLAYED);
  assert.match(editor.asked[0]?.text ?? "", /would execute code: verl\.protocol\.DataProto/);
  assert.deepEqual([read(), fake.sidecar.sentTo(REPLAY)], [[false], []]);
  await run(COMMANDS.replayBatch, Uri.file(BATCH_FILE), {
    ...REPLAYED,
    warning: "Execute and Load",
  });
  assert.deepEqual(read(), [false, false, true]);
  const [request] = fake.sidecar.sentTo(REPLAY) as { unpickle: boolean }[];
  assert.equal(request?.unpickle, true);
  assert.match(editor.documents[0]?.text ?? "", /unpickled: verl\.protocol\.DataProto/);
});

test("a file with dangerous code is not offered to be loaded", async () => {
  fake.sidecar.on(BATCH, () => {
    throw new EaglerayError("dangerous-pickle", "Dangerous: os.system.", "Don't load it.");
  });
  await run(COMMANDS.replayBatch, Uri.file(BATCH_FILE), {
    ...REPLAYED,
    warning: "Execute and Load",
  });
  assert.deepEqual([read(), fake.sidecar.sentTo(REPLAY)], [[false], []]);
});

test("a script that exists is replaced only after a question", async () => {
  fake.sidecar.on(REPLAY, ({ script = "", replace }) => {
    if (replace !== true) {
      throw new EaglerayError("script-exists", "/w/replay.py exists.", "");
    }
    return { script, argv: ARGV };
  });
  await run(COMMANDS.replayBatch, Uri.file(BATCH_FILE), REPLAYED);
  assert.equal(editor.asked.at(-1)?.text, "Replace replay.py?");
  assert.equal(fake.sidecar.sentTo(REPLAY).length, 1);
  await run(COMMANDS.replayBatch, Uri.file(BATCH_FILE), { ...REPLAYED, warning: "Replace" });
  assert.equal(fake.sidecar.sentTo(REPLAY).length, 3);
});

test("verl's command gets the folder of its rollouts", async () => {
  const command = "python -m verl.trainer.main_ppo data.train_batch_size=8";
  await run(COMMANDS.replayBatch, undefined, {
    pick: "verl",
    open: [Uri.file("/w/rollouts")],
    input: command,
    info: "Run",
  });
  const request = { framework: "verl", batch: "/w/rollouts", command, cwd: "" };
  assert.deepEqual(fake.sidecar.sentTo(REPLAY), [request]);
  assert.equal(fake.sidecar.sentTo(PREPARE).length, 1);
});

test("an untrusted workspace reads no batch", async () => {
  editor.trusted = false;
  await run(COMMANDS.replayBatch, Uri.file(BATCH_FILE), REPLAYED);
  assert.deepEqual(fake.sidecar.sentTo(BATCH), []);
});

test("the summary has a column for each figure that some tensor has", () => {
  const text = batchText(BATCH_FILE, described());
  assert.deepEqual(text.split("\n"), [
    "/w/batch.pt",
    "dict · torch 2.13.0 · loaded without executing anything",
    "",
    "! rewards is 1 everywhere.",
    "",
    "Tensor     Shape  Dtype  Min  Mean    Max  Std  Row sums",
    "input_ids  2x6    int32  0    12.346  41   1",
    "loss_mask  2x6    int32  0    12.346  1    1    2-4",
    "",
    "Of trained tokens:",
    "  logprobs: 6 values, -2.5 to 0, mean -1, std 0.5",
    "",
    "meta.step (int): 3",
    "",
    "3 more parts.",
    "",
  ]);
});
