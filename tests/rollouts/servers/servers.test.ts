// Servers in the editor: their rows, the command that starts them, and the variables of the chosen one.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { COMMANDS } from "../../../extension/contributions";
import { CHOICES } from "../../../extension/clusters/messages";
import * as inference from "../../../extension/rollouts/servers";
import { ADD, LIST, REMOVE, START, VARIABLES } from "../../../extension/rollouts/servers/messages";
import { RecordingTimes } from "../../../extension/runs/recording_times";
import { CHANGED, LIST as RUNS, type Run } from "../../../extension/runs/messages";
import { runsRows, runsTexts, type RunsView } from "../../../extension/runs/rows";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach } from "../../fakes/registered";
import { debug, editor, extensions, Uri } from "../../fakes/vscode";
import { aRun, FOLDER } from "../../runs/samples";

const KEY = "sk-eagleray-of-this-test-000000";
const URL_OF_IT = "http://127.0.0.1:8000/v1";

let fake: FakeApp;
let runs: readonly Run[] = [];

registeredForEach(inference.register, (made) => {
  fake = made;
  runs = [];
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
  fake.sidecar.on(RUNS, () => ({ runs }));
  fake.sidecar.on(VARIABLES, () => ({
    variables: { OPENAI_BASE_URL: URL_OF_IT, OPENAI_API_KEY: KEY },
  }));
  fake.sidecar.on(CHOICES, () => ({
    jobs: [],
    ssh_hosts: [{ name: "gpu1", detail: "" }],
    polled_hosts: [],
    problems: [],
  }));
  fake.sidecar.on(START, () => {
    runs = [server("starting")];
    return { run: "0123456789ab", name: "vllm" };
  });
});

function server(
  state: NonNullable<Run["server"]>["state"],
  changes: Partial<NonNullable<Run["server"]>> = {},
): Run {
  const url = state === "starting" ? "" : URL_OF_IT;
  const of = { name: "vllm", state, url, model: "Qwen/Q", reason: "", warning: "", ...changes };
  return aRun({
    name: "vllm",
    command: "vllm serve Qwen/Q",
    kind: "command",
    state: state === "stopped" ? "cancelled" : state === "failed" ? "failed" : "running",
    server: of,
  });
}

async function list(...listed: Run[]): Promise<void> {
  runs = listed;
  fake.sidecar.notify(CHANGED, { runs: listed });
  await settled();
  await settled();
}

function view(listed: readonly Run[]): RunsView {
  return {
    runs: { runs: listed },
    servers: [],
    clusters: { clusters: [], hints: [], jobs: [], hosts: [] },
    profiled: { runs: [] },
    recordings: new RecordingTimes(),
    now_s: 1060,
  };
}

function texts(run: Run): ReturnType<typeof runsTexts> {
  return runsTexts(view([run]), { row: "run", run });
}

/** Selects the first item of a list, or the one with the label, and types the answers one after the other. */
function typing(...answers: readonly string[]): void {
  const left = [...answers];
  editor.answer = ({ kind, options }) => {
    const items = options["items"] as readonly { label: string }[] | undefined;
    return kind === "pick"
      ? (items?.find(({ label }) => left[0] === label && left.shift()) ?? items?.[0])
      : left.shift();
  };
}

async function started(): Promise<void> {
  typing("vllm serve Qwen/Q");
  await editor.commands.get(COMMANDS.startServer)?.();
  await list(server("ready"));
}

/** The `env` with which a debugger launches a program, of the Python debugger if the configuration names no other. */
async function launched(config: Record<string, unknown>): Promise<unknown> {
  await debug.startDebugging(undefined, { type: "debugpy", name: "agent", ...config });
  return debug.sessions.at(-1)?.configuration["env"];
}

test("the row of a server says where it answers, or why it doesn't", () => {
  assert.equal(texts(server("ready")).label, "vllm");
  assert.match(texts(server("ready")).description, /^ready · 127\.0\.0\.1:8000 · /);
  assert.match(texts(server("starting")).description, /^starting/);
  const refused = texts(server("unhealthy", { reason: "The server rejects the API key." }));
  assert.match(refused.description, /unhealthy.*rejects the API key/);
  assert.equal(refused.icon, "warning");
  const failed = texts(server("failed", { reason: "Port 8000 is already taken by eve." }));
  assert.match(failed.description, /Port 8000 is already taken by eve\./);
  assert.equal(texts(server("ready")).context, "run.live.server");
});

test("starting a server keeps its command and uses its variables when it is ready", async () => {
  typing("vllm serve Qwen/Q");
  await editor.commands.get(COMMANDS.startServer)?.();
  assert.equal((fake.sidecar.sentTo(START)[0] as { command: string }).command, "vllm serve Qwen/Q");
  await list(server("starting"));
  assert.equal(fake.terminalVariables.values.size, 0);
  await list(server("ready"));
  assert.equal(fake.terminalVariables.values.get("OPENAI_API_KEY"), KEY);
  assert.equal(fake.terminalVariables.persistent, false);
  editor.asked = [];
  await editor.commands.get(COMMANDS.startServer)?.();
  const items = editor.asked[0]?.options["items"] as readonly { value: string }[];
  assert.equal(items[0]?.value, "vllm serve Qwen/Q");
});

test("servers of frameworks are proposed, too", async () => {
  editor.answer = () => undefined;
  await editor.commands.get(COMMANDS.startServer)?.();
  const items = editor.asked[0]?.options["items"] as readonly { label: string; value: string }[];
  const values = new Map(items.map(({ label, value }) => [label, value]));
  const module = "areal.experimental.inference_service.sglang.launch_server";
  assert.equal(values.get("AReaL (SGLang)"), `python -m ${module} --model-path MODEL`);
  assert.equal(values.get("NeMo RL (vLLM)"), "uv run --extra vllm vllm serve MODEL");
});

test("a server starts on the host that is selected", async () => {
  typing("vllm serve Qwen/Q", "gpu1");
  await editor.commands.get(COMMANDS.startServer)?.();
  const sent = fake.sidecar.sentTo(START)[0] as { host: string };
  assert.equal(sent.host, "gpu1");
});

test("a script for SLURM is submitted after a question, and cancelled questions start nothing", async () => {
  typing("sbatch serve.sub");
  await editor.commands.get(COMMANDS.startServer)?.();
  assert.equal(fake.sidecar.sentTo(START).length, 0);
  typing("sbatch serve.sub", "sbatch serve.sub", "Submit");
  await editor.commands.get(COMMANDS.startServer)?.();
  const sent = fake.sidecar.sentTo(START)[0] as { confirmed: boolean };
  assert.equal(sent.confirmed, true);
});

test("a server that already runs is added with its key, and used", async () => {
  const reason = "The server rejects the API key.";
  fake.sidecar.on(ADD, () => ({
    name: "there",
    state: "unhealthy" as const,
    url: URL_OF_IT,
    model: "",
    run: "",
    reason,
  }));
  const added = {
    name: "there",
    state: "unhealthy" as const,
    url: URL_OF_IT,
    model: "",
    run: "",
    reason,
  };
  let listed = [added, { ...added, name: "vllm", run: "0123456789ab" }];
  fake.sidecar.on(LIST, () => ({ servers: listed }));
  typing("Server That Already Runs…", URL_OF_IT, KEY);
  await editor.commands.get(COMMANDS.startServer)?.();
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(ADD), [{ url: URL_OF_IT, key: KEY }]);
  assert.equal(fake.terminalVariables.values.get("OPENAI_API_KEY"), KEY);
  assert.ok(editor.asked.some(({ text }) => text.includes(reason)));
  assert.deepEqual(fake.app.addedServers.value, [added]);
  const row = { row: "server" as const, server: added };
  const [shown] = runsRows({ ...view([]), servers: [added] });
  assert.deepEqual(shown, row);
  const drawn = runsTexts(view([]), row);
  assert.equal(drawn.description, "unhealthy · 127.0.0.1:8000");
  assert.equal(drawn.context, "addedServer");
  fake.sidecar.on(REMOVE, () => {
    listed = [];
    return {};
  });
  await editor.commands.get(COMMANDS.removeServer)?.(row);
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(REMOVE), [{ name: "there" }]);
  assert.deepEqual(fake.app.addedServers.value, []);
  assert.equal(fake.terminalVariables.values.size, 0);
});

test("terminals get the new address of a server that keeps running", async () => {
  await started();
  const moved = "http://127.0.0.1:41001/v1";
  fake.sidecar.on(VARIABLES, () => ({ variables: { OPENAI_BASE_URL: moved } }));
  await list(server("ready", { url: moved }));
  assert.equal(fake.terminalVariables.values.get("OPENAI_BASE_URL"), moved);
});

test("the variables of a server that stops are removed", async () => {
  const terminals = fake.terminalVariables;
  terminals.replace("PATH", "/ext/bin");
  await started();
  assert.equal(terminals.values.size, 3);
  assert.match(terminals.description, /^Variables of the server/u);
  await list(server("stopped"));
  assert.deepEqual([...terminals.values.keys()], ["PATH"]);
  assert.deepEqual([...terminals.onDisk], ["PATH"]);
  assert.deepEqual([terminals.persistent, terminals.description], [true, "The eagleray command"]);
  assert.equal(await launched({ request: "launch" }), undefined);
});

test("launch configurations of the Python debugger get the variables that they don't set", async () => {
  await started();
  assert.deepEqual(await launched({ request: "launch", env: { OPENAI_API_KEY: "mine" } }), {
    OPENAI_BASE_URL: URL_OF_IT,
    OPENAI_API_KEY: "mine",
  });
  assert.equal(await launched({ request: "attach" }), undefined);
});

/** As extensions declare their debuggers. */
function declares(type: string, properties: object): object {
  return {
    contributes: { debuggers: [{ type, configurationAttributes: { launch: { properties } } }] },
  };
}

const OF_SERVER = { OPENAI_BASE_URL: URL_OF_IT, OPENAI_API_KEY: KEY };
const LAUNCHES: readonly [string, Record<string, unknown>, unknown][] = [
  ["declares env", { type: "node" }, OF_SERVER],
  ["sets another variable", { type: "node", env: { A: "b" } }, { ...OF_SERVER, A: "b" }],
  [
    "unsets one",
    { type: "node", env: { OPENAI_API_KEY: null } },
    { ...OF_SERVER, OPENAI_API_KEY: null },
  ],
  ["has env in its configuration", { type: "unknown", env: {} }, OF_SERVER],
  ["declares none", { type: "cppdbg" }, undefined],
  ["has a list", { type: "unknown", env: ["A=b"] }, ["A=b"]],
  ["is ours", { type: "eagleray" }, undefined],
  ["attaches", { type: "node", request: "attach" }, undefined],
];

for (const [how, config, env] of LAUNCHES) {
  const effect = env === config["env"] ? "is left as it is" : "gets the variables it lacks";
  test(`a configuration whose debugger ${how} ${effect}`, async () => {
    extensions.all = [
      declares("node", { env: {} }),
      declares("cppdbg", { environment: {} }),
      {},
    ].map((packageJSON) => ({ packageJSON }));
    await started();
    assert.deepEqual(await launched({ request: "launch", ...config }), env);
  });
}

test("variables that a file of the configuration sets stay as they are", async () => {
  const folder = mkdtempSync(join(tmpdir(), "er-"));
  editor.folders = [{ uri: Uri.file(folder), name: "project", index: 0 }];
  writeFileSync(join(folder, ".env"), "# OPENAI_BASE_URL=no\nexport OPENAI_API_KEY = mine\n");
  await started();
  for (const envFile of ["${workspaceFolder}/.env", [join(folder, ".env"), join(folder, "no")]]) {
    assert.deepEqual(await launched({ request: "launch", envFile }), {
      OPENAI_BASE_URL: URL_OF_IT,
    });
  }
  rmSync(folder, { recursive: true });
});

test("no server can be chosen, so that terminals get no variables", async () => {
  await started();
  fake.sidecar.on(LIST, () => ({
    servers: [
      {
        name: "vllm",
        state: "ready" as const,
        url: URL_OF_IT,
        model: "",
        run: "0123456789ab",
        reason: "",
      },
    ],
  }));
  editor.answer = ({ options }) => (options["items"] as readonly unknown[]).at(-1);
  await editor.commands.get(COMMANDS.useServer)?.();
  await settled();
  assert.equal(fake.terminalVariables.values.size, 0);
});

test("copied variables are commands of a shell", async () => {
  await list(server("ready"));
  const run = runs[0];
  await editor.commands.get(COMMANDS.copyServerVariables)?.({ row: "run", run });
  assert.equal(
    editor.clipboard,
    `export OPENAI_BASE_URL=${URL_OF_IT}\nexport OPENAI_API_KEY=${KEY}\n`,
  );
});
