// “Why Is It Stuck?” from rows and the palette, and what the page of a picture asks of the editor.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import { CHANGED as CLUSTERS } from "../../../extension/clusters/messages";
import { register } from "../../../extension/observe/hangs";
import {
  COMPARE,
  MARKDOWN,
  OF_GROUP,
  OF_STACKS,
  OPEN,
  PICTURE,
  PROCESSES,
  SAVE,
} from "../../../extension/observe/hangs/messages";
import type { ToPicturePage } from "../../../extension/observe/hangs/page_messages";
import { parsedPids } from "../../../extension/observe/hangs/targets_model";
import { EXPORT, type PageToExport } from "../../../extension/page/messages";
import { LIST as RUNS } from "../../../extension/runs/messages";
import {
  RESOLVE,
  SET_FOLDER,
  type Resolution,
} from "../../../extension/debug/source_mapping/messages";
import type { Row } from "../../../extension/rows";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach } from "../../fakes/registered";
import { editor, FakeWebviewPanel, Uri } from "../../fakes/vscode";
import { aRun } from "../../runs/samples";
import { cluster, clustersOf, job, pausedWorker } from "../../debug/workers/samples";
import { picture, process, verdict } from "./pictures";

const STUCK = "eagleray.whyStuck";
const CLUSTER = cluster();

let fake: FakeApp;

registeredForEach(register, (made) => {
  fake = made;
  fake.sidecar.on(PICTURE, () => picture());
  fake.sidecar.on(RUNS, () => ({ runs: [] }));
  fake.sidecar.notify(CLUSTERS, clustersOf([CLUSTER]));
});

/** The page that the command has opened, which says that it is ready. */
async function opened(...args: unknown[]): Promise<FakeWebviewPanel> {
  await editor.run(STUCK, ...args);
  const panel = editor.panels.at(-1);
  assert.ok(panel);
  await says(panel, { kind: "ready" });
  return panel;
}

async function says(panel: FakeWebviewPanel, message: object): Promise<void> {
  panel.webview.says(message);
  await settled();
}

function shown<K extends ToPicturePage["kind"]>(
  panel: FakeWebviewPanel,
  kind: K,
): Extract<ToPicturePage, { kind: K }> | undefined {
  const posted = panel.webview.posted as ToPicturePage[];
  return posted.findLast((one) => one.kind === kind) as
    Extract<ToPicturePage, { kind: K }> | undefined;
}

const group = (worker = pausedWorker()): Row => ({
  row: "group",
  cluster: CLUSTER.id,
  title: "train",
  workers: [worker],
  post_mortem: false,
  waiting: "",
  sentence: "",
});

const ROWS: readonly (readonly [string, Row, object])[] = [
  ["cluster", { row: "cluster", cluster: CLUSTER }, { cluster: CLUSTER.id }],
  ["group of paused workers", group(), { cluster: CLUSTER.id, workers: "train" }],
  ["run", { row: "run", run: aRun() }, { run_id: aRun().id }],
];

for (const [what, row, target] of ROWS) {
  test(`the row of a ${what} is sampled without a question`, async () => {
    const panel = await opened(row, undefined);
    assert.deepEqual(fake.sidecar.sentTo(PICTURE), [target]);
    assert.deepEqual(editor.asked, []);
    assert.equal(shown(panel, "picture")?.picture.verdict.kind, "collective-mismatch");
    assert.equal(shown(panel, "picture")?.canSampleAgain, true);
  });
}

test("a job is connected first, then its cluster is sampled", async () => {
  const own = cluster({ id: "ssh://login/slurm://12", name: "job 12" });
  editor.builtin.set("eagleray.connectJob", () => own);
  await opened({ row: "job", job: job(), connecting: false });
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), [{ cluster: own.id }]);
  assert.equal(editor.panels[0]?.title, "Stuck? job 12");
});

test("a job that can't be connected is not sampled", async () => {
  await editor.run(STUCK, { row: "job", job: job(), connecting: false });
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), []);
  assert.deepEqual(editor.panels, []);
});

test("the palette samples the only cluster without a question", async () => {
  await opened();
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), [{ cluster: CLUSTER.id }]);
  assert.deepEqual(editor.asked, []);
});

test("the palette asks which cluster, run or process where there are several", async () => {
  fake.sidecar.on(RUNS, () => ({ runs: [aRun(), aRun({ id: "2", state: "exited" })] }));
  const offered: string[] = [];
  editor.answer = ({ options }) => {
    const items = options["items"] as { label: string; description: string }[];
    offered.push(...items.map(({ label, description }) => `${label} ${description}`.trim()));
    return items[1];
  };
  await opened();
  assert.deepEqual(offered, [
    "local (8265) cluster",
    "train.py --steps 3 run",
    "Processes of This Machine…",
  ]);
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), [{ run_id: aRun().id }]);
});

test("without a cluster PIDs are typed", async () => {
  fake.sidecar.notify(CLUSTERS, clustersOf([]));
  editor.answer = () => "4711, 4712";
  await opened();
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), [{ pids: [4711, 4712] }]);
});

test("processes of this machine are listed with command and age", async () => {
  fake.sidecar.notify(CLUSTERS, clustersOf([]));
  const processes = [{ pid: 4711, command: "python train.py --steps 3", age_s: 125 }];
  fake.sidecar.on(PROCESSES, () => ({ processes }));
  const details: unknown[] = [];
  editor.answer = ({ options }) => {
    const [first] = options["items"] as { description: string; detail?: string }[];
    details.push(first?.description, first?.detail);
    return first;
  };
  await opened();
  assert.deepEqual(details.slice(2), ["2 m 5 s", "python train.py --steps 3"]);
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), [{ pids: [4711] }]);
});

for (const [text, pids] of [
  ["4711", [4711]],
  [" 1, 2  3 ", [1, 2, 3]],
  ["", undefined],
  ["0", undefined],
  ["train", undefined],
  ["1 x", undefined],
] as const) {
  test(`“${text}” gives the PIDs ${String(pids)}`, () => {
    assert.deepEqual(parsedPids(text), pids);
  });
}

test("sampling that fails shows the error and opens no page", async () => {
  fake.sidecar.on(PICTURE, () => {
    throw new EaglerayError("cluster-unreachable", "It does not answer.", "Reconnect.");
  });
  await editor.run(STUCK, { row: "cluster", cluster: CLUSTER }, undefined);
  assert.deepEqual(
    editor.asked.map(({ text }) => text),
    ["It does not answer. Reconnect."],
  );
  assert.deepEqual(editor.panels, []);
});

test("a second picture of a cluster fills its page", async () => {
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  fake.sidecar.on(PICTURE, () => picture({ verdict: verdict({ kind: "slow" }) }));
  await editor.run(STUCK, { row: "cluster", cluster: CLUSTER }, undefined);
  assert.equal(editor.panels.length, 1);
  assert.equal(panel.revealed, 1);
  assert.equal(shown(panel, "picture")?.picture.verdict.kind, "slow");
});

test("“Sample Again” takes the picture of the same target, and its button waits", async () => {
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  fake.sidecar.on(PICTURE, () => picture({ verdict: verdict({ kind: "slow" }) }));
  await says(panel, { kind: "again" });
  assert.equal(fake.sidecar.sentTo(PICTURE).length, 2);
  const kinds = (panel.webview.posted as ToPicturePage[]).map((one) =>
    one.kind === "busy" ? `sampling ${one.isOn}` : one.kind,
  );
  assert.deepEqual(kinds, [
    "picture",
    "sampling false",
    "sampling true",
    "picture",
    "sampling false",
    "sampling false",
  ]);
  assert.deepEqual([panel.revealed, panel.focused], [1, 0], "the user may type elsewhere");
});

test("a picture is saved, opened, compared and copied", async () => {
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  editor.answer = ({ kind, options }) => {
    if (kind === "save") {
      assert.match((options["defaultUri"] as Uri).path, /\/stuck-[\d-]+\.json$/);
      return Uri.file("/w/first.json");
    }
    return [Uri.file("/w/earlier.json")];
  };
  await says(panel, { kind: "save" });
  assert.deepEqual(fake.sidecar.sentTo(SAVE), [{ path: "/w/first.json", picture: picture() }]);
  assert.equal(shown(panel, "announcement")?.sentence, "Saved as first.json.");
  fake.sidecar.on(COMPARE, () => ({ sentences: ["Ranks 1 and 3: a → b"] }));
  await says(panel, { kind: "compare" });
  assert.deepEqual(shown(panel, "changes"), {
    kind: "changes",
    title: "earlier.json",
    sentences: ["Ranks 1 and 3: a → b"],
  });
  fake.sidecar.on(MARKDOWN, () => ({ text: "**stuck**" }));
  await says(panel, { kind: "copyMarkdown" });
  assert.equal(editor.clipboard, "**stuck**");
  assert.equal(shown(panel, "announcement")?.sentence, "Copied as Markdown.");
});

test("a picture is exported with the messages that draw it, and opens in the browser", async () => {
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  fake.sidecar.on(COMPARE, () => ({ sentences: ["Ranks 1 and 3: a → b"] }));
  fake.sidecar.on(MARKDOWN, () => ({ text: "**stuck**" }));
  editor.answer = ({ kind, options }) => {
    if (kind === "save") {
      assert.match((options["defaultUri"] as Uri).path, /\/Stuck-local-8265\.html$/);
      return Uri.file("/w/stuck.html");
    }
    return kind === "info" ? "Open in Browser" : [Uri.file("/w/earlier.json")];
  };
  await says(panel, { kind: "compare" });
  await says(panel, { kind: "copyMarkdown" });
  await says(panel, { kind: "export" });
  const { messages, ...page } = fake.sidecar.sentTo(EXPORT)[0] as PageToExport;
  assert.deepEqual(page, {
    path: "/w/stuck.html",
    page: "picture_page",
    title: "Stuck? local (8265)",
    translations: "{}",
  });
  const kinds = (JSON.parse(messages) as ToPicturePage[]).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["picture", "busy", "changes"]);
  await settled();
  assert.equal(editor.asked.at(-1)?.text, "Exported as stuck.html.");
  assert.deepEqual(editor.opened, ["file:///w/stuck.html"]);
});

test("a saved picture opens without a target that could be sampled again", async () => {
  fake.sidecar.on(OPEN, () => picture());
  editor.answer = () => [Uri.file("/w/first.json")];
  await editor.run("eagleray.openPicture");
  const panel = editor.panels.at(-1);
  assert.ok(panel);
  await says(panel, { kind: "ready" });
  assert.deepEqual(fake.sidecar.sentTo(OPEN), [{ path: "/w/first.json" }]);
  assert.equal(panel.title, "Stuck? first.json");
  assert.equal(shown(panel, "picture")?.canSampleAgain, false);
  assert.equal(shown(panel, "picture")?.canReadInside, false);
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), []);
});

test("stacks of the clipboard, the editor, files or a folder open as a page, and files that can’t be read are named", async () => {
  const unread = [{ name: "/w/job.tar.gz/rank1.txt", reason: "damaged" }];
  fake.sidecar.on(OF_STACKS, () => ({ picture: picture(), unread }));
  editor.clipboard = "Thread 0x1 (most recent call first):";
  const offered: string[][] = [];
  let chosen = "Clipboard";
  editor.answer = ({ kind, options }) => {
    if (kind === "open") {
      return [Uri.file("/w/job.tar.gz")];
    }
    if (kind !== "pick") {
      return undefined;
    }
    const picks = options["items"] as { readonly label: string }[];
    offered.push(picks.map(({ label }) => label));
    return picks.find(({ label }) => label === chosen);
  };
  await editor.run("eagleray.openStacks");
  assert.equal(editor.panels.at(-1)?.title, "Stuck? Clipboard");
  assert.match(
    editor.asked.at(-1)?.text ?? "",
    /^One file could not be read\. rank1\.txt: damaged$/,
  );
  editor.clipboard = "";
  chosen = "Files…";
  await editor.run("eagleray.openStacks");
  assert.equal(editor.panels.at(-1)?.title, "Stuck? job.tar.gz");
  chosen = "";
  await editor.run("eagleray.openStacks");
  assert.deepEqual(offered, [
    ["Clipboard", "Files…", "Folder…"],
    ["Files…", "Folder…"],
    ["Files…", "Folder…"],
  ]);
  assert.deepEqual(fake.sidecar.sentTo(OF_STACKS), [
    { paths: [], text: "Thread 0x1 (most recent call first):" },
    { paths: ["/w/job.tar.gz"], text: "" },
  ]);
});

test("the row of a run with a picture opens that picture", async () => {
  fake.sidecar.on(OPEN, () => picture());
  const path = "/h/runs/0123456789ab/pictures/20261123-120300.json";
  const saved = { path, taken_at: 1, kind: "straggler", sentence: "x", is_stuck: false };
  await editor.run("eagleray.openPicture", { row: "run", run: aRun({ picture: saved }) });
  assert.deepEqual(fake.sidecar.sentTo(OPEN), [{ path }]);
  assert.deepEqual(editor.asked, []);
  assert.match(editor.panels.at(-1)?.title ?? "", /^Stuck\? train\.py/);
});

test("a tab is restored after a reload of the window, and can be sampled again", async () => {
  const before = await opened();
  const message = shown(before, "picture");
  const stored = { ...message?.stored, picture: message?.picture };
  const serializer = editor.serializers.get("eagleray.picture");
  const panel = new FakeWebviewPanel();
  await serializer?.deserializeWebviewPanel(panel, { stored });
  await says(panel, { kind: "ready" });
  assert.deepEqual(shown(panel, "picture")?.picture, picture());
  assert.match(shown(panel, "picture")?.from ?? "", /^local \(8265\) · /);
  await says(panel, { kind: "again" });
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), [
    { cluster: CLUSTER.id },
    { cluster: CLUSTER.id },
  ]);
  for (const other of [undefined, { stored: { ...stored, version: "1.2.2" } }]) {
    const closed = new FakeWebviewPanel();
    await serializer?.deserializeWebviewPanel(closed, other);
    assert.ok(closed.isClosed);
  }
});

test("a picture of very many ranks is not kept for a reload", async () => {
  const ranks = Array.from({ length: 1001 }, (_, rank) => process(rank));
  fake.sidecar.on(PICTURE, () => picture({ ranks }));
  assert.equal(shown(await opened(), "picture")?.stored, undefined);
});

test("the sentence of paused workers opens its picture, which can be sampled again", async () => {
  fake.sidecar.on(OF_GROUP, () => picture());
  await editor.run("eagleray.openPicture", { row: "sentence", group: group() });
  const panel = editor.panels.at(-1);
  assert.ok(panel);
  assert.equal(panel.title, "Stuck? train · local (8265)");
  const asked = { cluster: CLUSTER.id, title: "train", post_mortem: false };
  assert.deepEqual(fake.sidecar.sentTo(OF_GROUP), [asked]);
  await says(panel, { kind: "ready" });
  await says(panel, { kind: "again" });
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), [{ cluster: CLUSTER.id, workers: "train" }]);
});

test("paused processes of a run without Ray are sampled by their PIDs", async () => {
  const worker = pausedWorker({ cluster: "", pid: 4711 });
  await opened({ ...group(worker), cluster: "" }, undefined);
  assert.deepEqual(fake.sidecar.sentTo(PICTURE), [{ pids: [4711] }]);
});

test("processes of this machine are read from inside once, on request", async () => {
  fake.sidecar.notify(CLUSTERS, clustersOf([]));
  editor.answer = () => "4711";
  const panel = await opened();
  assert.equal(shown(panel, "picture")?.canReadInside, true);
  const asked = { group: "world", rank: 1, reason: "", exceptions: [], awaits: [] };
  fake.sidecar.on(PICTURE, () => picture({ inside: [asked] }));
  await says(panel, { kind: "readInside" });
  assert.deepEqual(fake.sidecar.sentTo(PICTURE).at(-1), { pids: [4711], inside: true });
  assert.equal(shown(panel, "picture")?.canReadInside, false);
  await says(panel, { kind: "again" });
  assert.deepEqual(fake.sidecar.sentTo(PICTURE).at(-1), { pids: [4711] });
});

test("native frames are read on request", async () => {
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  await says(panel, { kind: "readNative" });
  assert.deepEqual(fake.sidecar.sentTo(PICTURE).at(-1), { cluster: CLUSTER.id, native: true });
  await says(panel, { kind: "again" });
  assert.deepEqual(fake.sidecar.sentTo(PICTURE).at(-1), { cluster: CLUSTER.id });
});

test("a run and a cluster can be read from inside", async () => {
  const run = await opened({ row: "run", run: aRun() }, undefined);
  assert.equal(shown(run, "picture")?.canReadInside, true);
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  assert.equal(shown(panel, "picture")?.canReadInside, true);
  await says(panel, { kind: "readInside" });
  assert.deepEqual(fake.sidecar.sentTo(PICTURE).at(-1), { cluster: CLUSTER.id, inside: true });
});

function resolution(how: Resolution["how"], local = ""): Resolution {
  return { how, local, candidates: ["/w/b/train.py"] };
}

test("a frame opens the local file that the mappings name, at its line", async () => {
  fake.sidecar.on(RESOLVE, () => resolution("setting", "/w/train.py"));
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  await says(panel, { kind: "open", path: "/remote/train.py", line: 64 });
  assert.deepEqual(fake.sidecar.sentTo(RESOLVE), [
    { cluster: CLUSTER.id, worker_id: "", path: "/remote/train.py", workspace_folders: [] },
  ]);
  assert.deepEqual(editor.shown, [{ path: "/w/train.py", line: 63 }]);
});

test("a frame without a local file opens nothing and says so", async () => {
  fake.sidecar.on(RESOLVE, () => resolution("none"));
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  await says(panel, { kind: "open", path: "/remote/$(x)train.py", line: 0 });
  assert.deepEqual(editor.shown, []);
  assert.deepEqual(
    editor.asked.map(({ text }) => text),
    ["$\u200b(x)train.py isn’t on this machine."],
  );
});

test("the question for a local file offers no file of a worker that isn't attached", async () => {
  const answers = [resolution("ask"), resolution("setting", "/w/b/train.py")];
  fake.sidecar.on(RESOLVE, () => answers.shift() ?? resolution("none"));
  const labels: string[] = [];
  editor.answer = ({ options }) => {
    const items = options["items"] as { label: string }[];
    labels.push(...items.map(({ label }) => label));
    return items[0];
  };
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  await says(panel, { kind: "open", path: "/r/train.py", line: 3 });
  assert.deepEqual(labels, ["/w/b/train.py", "Select the folder that contains it…"]);
  assert.equal(fake.sidecar.sentTo(SET_FOLDER).length, 1);
  assert.deepEqual(editor.shown, [{ path: "/w/b/train.py", line: 2 }]);
});

test("“Look Inside” gets the process of the rank", async () => {
  editor.builtin.set("eagleray.lookInside", () => undefined);
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  assert.equal(shown(panel, "picture")?.canInspect, true);
  await says(panel, { kind: "inspect", group: "world", rank: 1 });
  const { pid, node, role } = process(1);
  const expected = { cluster: CLUSTER.id, group: "world", rank: 1, pid, node, role };
  assert.deepEqual(editor.executed.at(-1), {
    command: "eagleray.lookInside",
    args: [expected],
  });
});

test("a page that comes back shows the same picture without a new sample", async () => {
  const panel = await opened({ row: "cluster", cluster: CLUSTER }, undefined);
  await says(panel, { kind: "ready" });
  assert.equal(fake.sidecar.sentTo(PICTURE).length, 1);
  assert.ok(shown(panel, "picture"));
});
