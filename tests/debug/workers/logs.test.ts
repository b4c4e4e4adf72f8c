import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import type { Row } from "../../../extension/rows";
import { CHANGED as CLUSTERS_CHANGED } from "../../../extension/clusters/messages";
import { logTitle, searchOf } from "../../../extension/debug/workers/logs/model";
import {
  FOLLOW_LOG,
  LOG_TEXT,
  OPEN_LOG,
  SEARCH_LOGS,
  STOP_FOLLOWING,
  type LogEnd,
  type LogMatches,
  type LogText,
} from "../../../extension/debug/workers/messages";
import type { GroupRow } from "../../../extension/debug/workers/rows";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach, registerWorkers } from "../../fakes/registered";
import { editor } from "../../fakes/vscode";
import { cluster, CLUSTER_ID, clustersOf, pausedWorker } from "./samples";

const workers = [pausedWorker(), pausedWorker({ worker_id: "b", name: "a/b" })];
const group: GroupRow = {
  row: "group",
  cluster: CLUSTER_ID,
  title: "W.train",
  workers,
  post_mortem: false,
  waiting: "",
  sentence: "",
};
const [first, second] = workers.map((worker): Row => ({ row: "worker", worker, group }));

let fake: FakeApp;

registeredForEach(registerWorkers, (made) => {
  fake = made;
});

function logText(changes: Partial<LogText> = {}): LogText {
  return { follow_id: "", text: "hello\n", ended: false, ...changes };
}

function logEnd(changes: Partial<LogEnd> = {}): LogEnd {
  return { title: "", text: "hello\n", truncated: false, ...changes };
}

function followId(): string {
  return (fake.sidecar.sentTo(FOLLOW_LOG).at(-1) as { follow_id: string }).follow_id;
}

test("a log opens as a read-only document", async () => {
  fake.sidecar.on(OPEN_LOG, () => logEnd({ truncated: true }));
  await editor.run("eagleray.openLog", first);
  assert.deepEqual(fake.sidecar.sentTo(OPEN_LOG), [
    { cluster: CLUSTER_ID, worker_id: "0badcafe", stream: "out", lines: 10_000 },
  ]);
  const [document] = editor.documents;
  assert.equal(document?.uri.path, "/policy_0 0badcafe stdout.log");
  assert.equal(document.text, "… Only the last 10000 lines are shown. …\nhello\n");
});

test("the error log is the other stream; a slash in a name makes no folder", async () => {
  fake.sidecar.on(OPEN_LOG, () => logEnd({ text: "" }));
  await editor.run("eagleray.openErrorLog", second);
  assert.equal((fake.sidecar.sentTo(OPEN_LOG)[0] as { stream: string }).stream, "err");
  assert.equal(editor.documents[0]?.uri.path, "/a∕b b stderr.log");
  assert.equal(editor.documents[0].text, "(empty)\n");
});

test("the logs of all workers that are selected open, and are followed", async () => {
  fake.sidecar.on(OPEN_LOG, () => logEnd());
  await editor.run("eagleray.openLog", second, [first, second]);
  assert.deepEqual(
    editor.documents.map(({ uri }) => uri.path),
    ["/a∕b b stdout.log", "/policy_0 0badcafe stdout.log"],
  );
  await editor.run("eagleray.followLog", second, [first, second]);
  assert.equal(fake.sidecar.sentTo(FOLLOW_LOG).length, 2);
});

test("a log that cannot be had is an error message and no document", async () => {
  fake.sidecar.on(OPEN_LOG, () => {
    throw new EaglerayError("no-log", "There is no log file of policy_0.", "Its node is gone.");
  });
  await editor.run("eagleray.openLog", first);
  assert.equal(editor.asked[0]?.text, "There is no log file of policy_0. Its node is gone.");
  assert.deepEqual(editor.documents, []);
});

test("a followed log runs into a channel of its own until it is stopped", async () => {
  await editor.run("eagleray.followLog", first);
  const channel = editor.channels.get("Ray log: policy_0 0badcafe stdout");
  fake.sidecar.notify(LOG_TEXT, logText({ follow_id: followId(), text: "one\n" }));
  fake.sidecar.notify(LOG_TEXT, logText({ follow_id: "another", text: "not this\n" }));
  assert.deepEqual([channel?.text, channel?.shown], ["one\n", true]);
  assert.equal(editor.contextKeys["eagleray.following"], true);
  await editor.run("eagleray.stopFollowing", first);
  assert.deepEqual(fake.sidecar.sentTo(STOP_FOLLOWING), [{ follow_id: followId() }]);
  assert.equal(editor.contextKeys["eagleray.following"], false);
  fake.sidecar.notify(LOG_TEXT, logText({ follow_id: followId(), text: "late\n" }));
  assert.equal(channel?.text, "one\n— not followed any more —\n");
});

test("a log that ends says so; following it again starts anew", async () => {
  await editor.run("eagleray.followLog", first);
  fake.sidecar.notify(LOG_TEXT, logText({ follow_id: followId(), text: "last\n", ended: true }));
  const channel = editor.channels.get("Ray log: policy_0 0badcafe stdout");
  assert.equal(channel?.text, "last\n— the log ended —\n");
  await editor.run("eagleray.followLog", first);
  assert.deepEqual([channel.text, fake.sidecar.sentTo(FOLLOW_LOG).length], ["", 2]);
});

test("followers continue after the sidecar was started again", async () => {
  await editor.run("eagleray.followLog", first);
  fake.sidecar.started();
  await settled();
  const asked = fake.sidecar.sentTo(FOLLOW_LOG) as readonly { follow_id: string }[];
  assert.equal(asked.length, 2);
  assert.equal(asked[0]?.follow_id, asked[1]?.follow_id);
});

test("a search goes through the logs of a group", async () => {
  editor.answer = ({ kind }) => (kind === "input" ? "/Loss=\\d+/" : undefined);
  fake.sidecar.on(SEARCH_LOGS, (): LogMatches => ({
    matches: [
      { worker_id: "0badcafe", name: "policy_0", stream: "out", line_number: 7, text: "Loss=3" },
      { worker_id: "0badcafe", name: "policy_0", stream: "out", line_number: 9, text: "Loss=2" },
    ],
    truncated: true,
    unread: ["a/b: its node is gone"],
    lines: 50_000,
  }));
  await editor.run("eagleray.searchLogs", group);
  assert.deepEqual(fake.sidecar.sentTo(SEARCH_LOGS), [
    {
      cluster: CLUSTER_ID,
      worker_ids: ["0badcafe", "b"],
      pattern: "Loss=\\d+",
      regex: true,
      match_case: true,
    },
  ]);
  assert.equal(
    editor.documents[0]?.text,
    [
      "2 lines with “Loss=\\d+” in the logs of W.train",
      "Only the first lines are listed.",
      "Not read: a/b: its node is gone",
      "",
      "policy_0 0badcafe stdout",
      "      7: Loss=3",
      "      9: Loss=2",
      "",
    ].join("\n"),
  );
});

test("the number of a line that was found opens its log at that line", async () => {
  editor.answer = ({ kind }) => (kind === "input" ? "loss" : undefined);
  const match = { worker_id: "b", name: "a/b", stream: "err", line_number: 12, text: "loss" };
  const found = { matches: [match], truncated: false, unread: [], lines: 50_000 };
  fake.sidecar.on(SEARCH_LOGS, () => found as LogMatches);
  await editor.run("eagleray.searchLogs", group);
  const [results] = editor.documents;
  assert.ok(results);
  const [link] = editor.links.get("eagleray-log")?.provideDocumentLinks(results) ?? [];
  assert.ok(link);
  const { startLine, startCharacter, endCharacter } = link.range;
  assert.equal(results.text.split("\n")[startLine]?.slice(startCharacter, endCharacter), "12");
  assert.deepEqual([link.target.path, link.target.fragment], ["/a∕b b stderr.log", "L12"]);
  const document = editor.providers.get("eagleray-log");
  fake.sidecar.on(OPEN_LOG, () => logEnd({ text: "all of it\n" }));
  assert.equal(await document?.provideTextDocumentContent(link.target), "all of it\n");
  assert.deepEqual(fake.sidecar.sentTo(OPEN_LOG), [
    { cluster: CLUSTER_ID, worker_id: "b", stream: "err", lines: 50_000 },
  ]);
  fake.sidecar.on(OPEN_LOG, () => {
    throw new EaglerayError("no-log", "There is no log file of a/b.", "Its node is gone.");
  });
  const said = "There is no log file of a/b. Its node is gone.\n";
  assert.equal(await document?.provideTextDocumentContent(link.target), said);
});

const elsewhere = pausedWorker({ cluster: "http://b:8265", worker_id: "c", name: "policy_9" });
const farGroup: GroupRow = {
  row: "group",
  cluster: elsewhere.cluster,
  title: "W",
  workers: [elsewhere],
  post_mortem: false,
  waiting: "",
  sentence: "",
};

test("workers of two clusters are searched in both, and one that does not answer is said", async () => {
  editor.answer = ({ kind }) => (kind === "input" ? "loss" : undefined);
  let silent: readonly string[] = [];
  fake.sidecar.on(SEARCH_LOGS, ({ cluster, worker_ids: [worker_id = ""] }): LogMatches => {
    if (silent.includes(cluster)) {
      throw new EaglerayError("cluster-unreachable", "It does not answer.");
    }
    const match = { worker_id, name: "w", stream: "out", line_number: 1, text: "loss" } as const;
    return { matches: [match], truncated: false, unread: [], lines: 9 };
  });
  assert.ok(first);
  await editor.run("eagleray.searchLogs", group, [group, farGroup, first]);
  assert.deepEqual(
    fake.sidecar
      .sentTo(SEARCH_LOGS)
      .map((one) => one as { cluster: string; worker_ids: string[] })
      .map(({ cluster, worker_ids }) => [cluster, worker_ids]),
    [
      [CLUSTER_ID, ["0badcafe", "b"]],
      [elsewhere.cluster, ["c"]],
    ],
  );
  const [results] = editor.documents;
  assert.ok(results);
  assert.match(results.text, /^2 lines with “loss” in the logs of 3 workers of 2 clusters\n/);
  const links = editor.links.get("eagleray-log")?.provideDocumentLinks(results) ?? [];
  assert.deepEqual(
    links.map(({ target }) => (JSON.parse(target.query) as { cluster: string }).cluster),
    [CLUSTER_ID, elsewhere.cluster],
  );
  silent = [elsewhere.cluster];
  await editor.run("eagleray.searchLogs", group, [group, farGroup]);
  const said = `1 line with “loss” in the logs of 3 workers of 2 clusters\nNot read: ${elsewhere.cluster}: It does not answer.\n`;
  assert.ok(editor.documents.at(-1)?.text.startsWith(said));
  silent = [CLUSTER_ID, elsewhere.cluster];
  await editor.run("eagleray.searchLogs", group, [group, farGroup]);
  assert.equal(editor.asked.at(-1)?.text, "It does not answer.");
});

test("without a row all logs of the cluster are searched", async () => {
  fake.sidecar.notify(CLUSTERS_CHANGED, clustersOf([cluster()]));
  fake.sidecar.on(SEARCH_LOGS, () => ({ matches: [], truncated: false, unread: [], lines: 9 }));
  editor.answer = ({ kind }) => (kind === "input" ? "nan" : undefined);
  await editor.run("eagleray.searchLogs");
  assert.deepEqual(fake.sidecar.sentTo(SEARCH_LOGS), [
    { cluster: CLUSTER_ID, worker_ids: [], pattern: "nan", regex: false, match_case: false },
  ]);
});

test("without a cluster it is said that there is nothing to search", async () => {
  await editor.run("eagleray.searchLogs");
  assert.match(editor.asked[0]?.text ?? "", /You have no cluster/);
});

test("the id, process and node of workers can be copied", async () => {
  await editor.run("eagleray.copyWorkerId", first, [first, second]);
  assert.equal(editor.clipboard, "0badcafe\nb");
  await editor.run("eagleray.copyPid", first);
  assert.equal(editor.clipboard, "123");
  // Both workers are on one node.
  await editor.run("eagleray.copyNode", first, [first, second]);
  assert.equal(editor.clipboard, "10.0.0.1");
});

const SEARCHES: readonly (readonly [string, string, boolean, boolean])[] = [
  ["loss", "loss", false, false],
  ["Loss", "Loss", false, true],
  ["/a|b/", "a|b", true, false],
  ["/", "/", false, false],
  ["//", "//", false, false],
  ["/tmp/x", "/tmp/x", false, false],
];

for (const [typed, pattern, regex, match_case] of SEARCHES) {
  test(`searching ${typed}`, () => {
    assert.deepEqual(searchOf(typed), { pattern, regex, match_case });
  });
}

test("the title of a log is one name, whatever the worker is called", () => {
  const title = logTitle({ name: "../../etc/\npasswd", worker_id: "0123456789" }, "out");
  assert.equal(title, "..∕..∕etc∕ passwd 01234567 stdout");
});
