// The lines above agents, and what “Debug” asks for and starts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { COMMANDS } from "../../extension/contributions";
import * as rollouts from "../../extension/rollouts";
import { LIST, type ListedServer } from "../../extension/rollouts/servers/messages";
import {
  AGENTS,
  DEBUG_AGENT,
  ITEMS,
  STORE_ITEM,
  type AgentClass,
} from "../../extension/rollouts/messages";
import type { RunStarter } from "../../extension/runs/run_starter";
import type { FakeApp } from "../fakes/app";
import { registeredForEach } from "../fakes/registered";
import { editor, Uri } from "../fakes/vscode";
import { FOLDER } from "../runs/samples";

const FILE = `${FOLDER}/agent.py`;
const TEXT = "class Solver:\n    async def run(self, data, **extra_kwargs): ...\n";
const SOLVER: AgentClass = { name: "Solver", line: 1, kind: "agent" };
const SERVER: ListedServer = {
  ...{ name: "vllm", state: "ready", url: "http://x/v1", model: "m", run: "r", reason: "" },
};

let fake: FakeApp;
let shown: string[] = [];
let classes: readonly AgentClass[] | null = [SOLVER];

const starting = (): Promise<RunStarter> =>
  Promise.resolve({
    show: (id: string) => Promise.resolve(shown.push(id)),
  } as unknown as RunStarter);

registeredForEach(
  (app) => rollouts.register(app, { starting }),
  (made) => {
    fake = made;
    shown = [];
    classes = [SOLVER];
    editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
    fake.sidecar.on(AGENTS, () => ({ classes }));
    fake.sidecar.on(LIST, () => ({ servers: [SERVER] }));
    fake.sidecar.on(ITEMS, () => ({
      items: [
        { number: 1, text: '{"n": 1}' },
        { number: 2, text: '{"n": 2}' },
      ],
    }));
    fake.sidecar.on(STORE_ITEM, () => ({ path: "/h/agent-items/aa.jsonl" }));
    fake.sidecar.on(DEBUG_AGENT, () => ({ run: "0123456789ab" }));
  },
);

async function lenses(text = TEXT): Promise<readonly (readonly [number, string])[]> {
  const document = { uri: Uri.file(FILE), getText: () => text, lineCount: 20 };
  const drawn = (await editor.lenses?.provideCodeLenses(document, undefined)) ?? [];
  return drawn.map(({ range, command }) => [range.startLine, command.title]);
}

/** Selects the rows that begin so, and types the texts, in this order. */
function answering(...answers: readonly string[]): void {
  const left = [...answers];
  editor.answer = ({ kind, options }) => {
    const answer = left.shift();
    if (kind === "open") {
      return answer === undefined ? undefined : [Uri.file(answer)];
    }
    const items = options["items"] as readonly { readonly label: string }[] | undefined;
    return kind === "pick" ? items?.find(({ label }) => label.includes(answer ?? "")) : answer;
  };
}

async function debugged(...answers: readonly string[]): Promise<object | undefined> {
  answering(...answers);
  await editor.commands.get(COMMANDS.debugAgent)?.({ path: FILE, name: "Solver" });
  return fake.sidecar.sentTo(DEBUG_AGENT).at(-1);
}

test("an agent has a line above its class", async () => {
  classes = [SOLVER, { name: "Other.Inner", line: 8, kind: "workflow" }];
  assert.deepEqual(await lenses(), [
    [0, "Debug"],
    [0, "Run 64 × 8"],
    [7, "Debug"],
    [7, "Run 64 × 8"],
  ]);
});

test("nothing is asked about a file without an agent", async () => {
  assert.deepEqual(await lenses("def run(self, data): ...\nasync def main(): ...\n"), []);
  assert.deepEqual(fake.sidecar.sentTo(AGENTS), []);
});

test("the lines stay while the text isn't valid Python", async () => {
  await lenses();
  classes = null;
  assert.equal((await lenses(`${TEXT}class`)).length, 2);
});

test("arguments of a class fill the next run of that class", async () => {
  const given = '{"gconfig": {"max_new_tokens": 8}}';
  const first = await debugged("Arguments", given, "Select a File", "/d/train.jsonl", "2");
  assert.equal((first as { arguments: string }).arguments, given);
  editor.asked = [];
  const next = await debugged("train.jsonl, item 2");
  assert.equal((next as { arguments: string }).arguments, given);
  const items = editor.asked[0]?.options["items"] as readonly { description?: string }[];
  assert.ok(items.some(({ description }) => description === given));
  const refused = await debugged("Arguments", "[1]", "train.jsonl, item 2");
  assert.equal((refused as { arguments: string }).arguments, given);
  answering("train.jsonl, item 2");
  await editor.commands.get(COMMANDS.debugAgent)?.({ path: FILE, name: "Other" });
  assert.equal((fake.sidecar.sentTo(DEBUG_AGENT).at(-1) as { arguments: string }).arguments, "");
});

test("an item of a file is debugged with the only server, and shown as a run of this window", async () => {
  const request = await debugged("Select a File", "/d/train.jsonl", "2");
  assert.deepEqual(request, {
    target: `${FILE}:Solver`,
    data: "/d/train.jsonl",
    number: 2,
    server: "vllm",
    cwd: FOLDER,
    python: (request as { python: string }).python,
    workspace: FOLDER,
    mode: "inline",
    arguments: "",
    breakpoints: [],
  });
  assert.deepEqual(shown, ["0123456789ab"]);
});

test("the last choice comes first, and is taken as it was", async () => {
  await debugged("Select a File", "/d/train.jsonl", "2");
  editor.asked = [];
  const request = await debugged("train.jsonl, item 2");
  assert.deepEqual((request as { number: number }).number, 2);
  const items = editor.asked[0]?.options["items"] as readonly { label: string }[];
  assert.deepEqual(
    items.slice(0, 2).map(({ label }) => label),
    ["train.jsonl, item 2", "Other Item of train.jsonl…"],
  );
});

test("the mode is chosen beside the data, and stays", async () => {
  const first = await debugged("Options", "subproc", "Select a File", "/d/train.jsonl", "2");
  assert.equal((first as { mode: string }).mode, "subproc");
  assert.equal(editor.asked.at(-1)?.kind, "pick");
  const second = await debugged("train.jsonl, item 2");
  assert.equal((second as { mode: string }).mode, "subproc");
});

test("the size and the time limit of a wave are chosen beside its data", async () => {
  let drawn = 0;
  editor.lenses?.onDidChangeCodeLenses(() => (drawn += 1));
  answering(
    ...["Options", "Groups", "16 x 4", "Time Limit", "0", "Done"],
    ...["Select a File", "/d/train.jsonl"],
  );
  await editor.commands.get(COMMANDS.runAgentWave)?.({ path: FILE, name: "Solver" });
  assert.equal(editor.panels.at(-1)?.title, "Solver, 16 × 4");
  assert.equal(drawn, 1);
  assert.deepEqual((await lenses())[1], [0, "Run 16 × 4"]);
});

test("an invalid size changes nothing", async () => {
  for (const wrong of ["0 x 8", "many", "64", "99999 x 99999"]) {
    answering("Options", "Groups", wrong, "Done", "");
    await editor.commands.get(COMMANDS.runAgentWave)?.({ path: FILE, name: "Solver" });
    assert.deepEqual((await lenses())[1], [0, "Run 64 × 8"], wrong);
  }
});

test("an item that was typed or copied is stored", async () => {
  fake.sidecar.on(ITEMS, () => ({ items: [{ number: 1, text: '{"n": 3}' }] }));
  const typed = await debugged("Enter an Item", '{"n": 3}');
  assert.deepEqual(fake.sidecar.sentTo(STORE_ITEM), [{ text: '{"n": 3}' }]);
  assert.equal((typed as { data: string }).data, "/h/agent-items/aa.jsonl");
  editor.clipboard = '{"n": 4}';
  await debugged("Use the Clipboard");
  assert.deepEqual(fake.sidecar.sentTo(STORE_ITEM).at(-1), { text: '{"n": 4}' });
});

test("with several servers the user selects one, or enters an address", async () => {
  const other = { ...SERVER, name: "sglang" };
  const ended = { ...SERVER, name: "gone", state: "stopped" } as const;
  fake.sidecar.on(LIST, () => ({ servers: [SERVER, other, ended] }));
  fake.sidecar.on(ITEMS, () => ({ items: [{ number: 1, text: "1" }] }));
  const picked = await debugged("Select a File", "/d/one.json", "sglang");
  assert.equal((picked as { server: string }).server, "sglang");
  const typed = await debugged("one.json", "Other Address", "http://h:1/v1");
  assert.equal((typed as { server: string }).server, "http://h:1/v1");
});

test("without an answer nothing is started", async () => {
  assert.equal(await debugged(), undefined);
  assert.equal(await debugged("Select a File"), undefined);
  assert.deepEqual(shown, []);
});

test("an integration test is a command in a terminal, with the files that are selected", async () => {
  answering("/d/it's train.yaml", "/d/train.jsonl");
  await editor.commands.get(COMMANDS.runIntegrationTest)?.({ path: FILE, name: "Solver" });
  const [terminal] = editor.terminals;
  const [line = ""] = terminal?.typed ?? [];
  assert.equal(terminal?.options["cwd"], FOLDER);
  assert.ok(terminal.shown);
  const files = `--config '/d/it'"'"'s train.yaml' --data /d/train.jsonl`;
  assert.ok(line.startsWith(`eagleray agent integrate ${FILE}:Solver ${files}`), line);
});

test("no integration test starts without both files", async () => {
  answering("/d/train.yaml");
  await editor.commands.get(COMMANDS.runIntegrationTest)?.({ path: FILE, name: "Solver" });
  assert.deepEqual(editor.terminals, []);
});
