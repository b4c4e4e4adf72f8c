import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import * as profiling from "../../../extension/profile/recordings";
import {
  CHANGED,
  GATHER,
  LIST,
  RECORD,
  STOP,
  type ProfiledRun,
} from "../../../extension/profile/recordings/messages";
import * as reports from "../../../extension/profile/reports";
import {
  REPORT,
  REPORT_TEXT,
  TABLE,
  TABLE_TEXT,
  type Report,
} from "../../../extension/profile/reports/messages";
import type { TableQuery, ToReportPage } from "../../../extension/profile/reports/page_messages";
import { LIST as RUNS } from "../../../extension/runs/messages";
import { fakeApp, settled, type FakeApp } from "../../fakes/app";
import { editor, FakeWebviewPanel, Uri } from "../../fakes/vscode";
import { profiledRun, profiledWorker, report, table } from "../recordings/samples";
import { aRun, FOLDER, runWorker } from "../../runs/samples";

const PATH = "/w/policy.nsys-rep";
const QUERY: TableQuery = { table: "kernels", sort: "", descending: true, search: "", limit: 2 };

let fake: FakeApp;
let registered: readonly { dispose(): unknown }[] = [];

beforeEach(() => {
  editor.reset();
  fake = fakeApp();
  registered = [...profiling.register(fake.app), ...reports.register(fake.app)];
});

afterEach(() => {
  for (const one of registered) {
    one.dispose();
  }
});

/** The page as the editor opens it, which says that it is ready. */
async function opened(): Promise<FakeWebviewPanel> {
  const panel = new FakeWebviewPanel();
  await editor.editors
    .get("eagleray.nsysReport")
    ?.resolveCustomEditor({ uri: Uri.file(PATH) }, panel);
  panel.webview.says({ kind: "ready" });
  await settled();
  return panel;
}

function last(panel: FakeWebviewPanel): ToReportPage | undefined {
  return panel.webview.posted.at(-1) as ToReportPage | undefined;
}

test("the page gets progress, then the report", async () => {
  fake.sidecar.on(REPORT, (_, { onProgress }) => {
    onProgress?.({ message: "Reading $(x) kernels", percentage: 40 });
    return report();
  });
  const panel = await opened();
  assert.deepEqual(fake.sidecar.sentTo(REPORT), [{ path: PATH }]);
  const said = panel.webview.posted as ToReportPage[];
  assert.deepEqual(
    said.map(({ kind }) => kind),
    ["loading", "loading", "report"],
  );
  assert.equal(said[1]?.kind === "loading" && said[1].percentage, 40);
  assert.equal(said[2]?.kind === "report" && said[2].title, "policy-3 (rank 3)");
});

for (const [what, changes, title] of [
  ["class", { worker: "", rank: 0 }, "Policy (rank 0)"],
  ["class of a worker without a rank", { worker: "", rank: null }, "Policy"],
  ["file of an unknown worker", { worker: "", class_name: "" }, "policy.node-7.12.nsys-rep"],
] as const) {
  test(`the title of a report names the ${what}`, async () => {
    fake.sidecar.on(REPORT, () => report(changes));
    const shown = last(await opened());
    assert.equal(shown?.kind === "report" && shown.title, title);
  });
}

test("a page that comes back is shown the same without anything being read again", async () => {
  fake.sidecar.on(REPORT, () => report());
  const panel = await opened();
  panel.webview.says({ kind: "ready" });
  await settled();
  assert.equal(fake.sidecar.sentTo(REPORT).length, 1);
  const posted = panel.webview.posted as ToReportPage[];
  assert.deepEqual(posted.map(({ kind }) => kind).slice(-2), ["report", "report"]);
});

test("the page shows the error of a report, which can be read again", async () => {
  fake.sidecar.on(REPORT, () => {
    throw new EaglerayError("empty-report", "It is empty.", "Record longer.");
  });
  const panel = await opened();
  assert.deepEqual(last(panel), {
    kind: "failed",
    message: "It is empty.",
    nextStep: "Record longer.",
  });
  assert.deepEqual(editor.asked, []);
  fake.sidecar.on(REPORT, () => report());
  panel.webview.says({ kind: "again" });
  await settled();
  assert.equal(last(panel)?.kind, "report");
});

test("“Cancel” and a page that is closed end the reading", async () => {
  const cancelled = new Set<object>();
  fake.sidecar.on(REPORT, (_, options) => {
    options.cancel?.onCancellationRequested(() => cancelled.add(options));
    return new Promise(() => undefined) as never;
  });
  const panel = await opened();
  panel.webview.says({ kind: "cancel" });
  assert.equal(cancelled.size, 1);
  panel.webview.says({ kind: "again" });
  await settled();
  panel.close();
  assert.equal(cancelled.size, 2);
});

test("another query of a table is answered with that query", async () => {
  fake.sidecar.on(REPORT, () => report());
  fake.sidecar.on(TABLE, () => table({ total: 1 }));
  const panel = await opened();
  const query = { ...QUERY, search: "gemm" };
  panel.webview.says({ kind: "query", query });
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(TABLE), [{ path: PATH, ...query }]);
  assert.deepEqual(last(panel), { kind: "table", query, table: table({ total: 1 }) });
});

test("a query that fails is shown in its table and to the user", async () => {
  fake.sidecar.on(REPORT, () => report());
  fake.sidecar.on(TABLE, () => {
    throw new EaglerayError("no-report", "It cannot be read.", "Look where it is.");
  });
  const panel = await opened();
  const query = { ...QUERY, search: "gemm" };
  panel.webview.says({ kind: "query", query });
  await settled();
  const reason = "It cannot be read. Look where it is.";
  assert.deepEqual(last(panel), { kind: "noTable", query, reason });
  assert.equal(editor.asked.at(-1)?.text, reason);
});

test("a table is copied whole, as it is sorted and searched", async () => {
  const text = { title: "Kernels", text: "kernel,count\n", rows: 2, total: 2 };
  fake.sidecar.on(REPORT, () => report());
  fake.sidecar.on(TABLE_TEXT, () => text);
  const panel = await opened();
  panel.webview.says({ kind: "copy", query: { ...QUERY, search: "g" }, format: "csv" });
  await settled();
  const asked = { table: "kernels", sort: "", descending: true, search: "g", format: "csv" };
  assert.deepEqual(fake.sidecar.sentTo(TABLE_TEXT), [{ path: PATH, ...asked }]);
  assert.equal(editor.clipboard, text.text);
  assert.deepEqual(last(panel), {
    kind: "announcement",
    sentence: "Copied “Kernels”.",
  });
  fake.sidecar.on(TABLE_TEXT, () => ({ ...text, total: 3 }));
  panel.webview.says({ kind: "copy", query: QUERY, format: "csv" });
  await settled();
  const part = "Copied the first 2 of 3 rows of “Kernels”.";
  assert.deepEqual(last(panel), { kind: "announcement", sentence: part });
});

test("the summary is copied as the sidecar writes it", async () => {
  fake.sidecar.on(REPORT, () => report());
  fake.sidecar.on(REPORT_TEXT, () => ({ text: "# policy" }));
  const panel = await opened();
  panel.webview.says({ kind: "copyReport" });
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(REPORT_TEXT), [{ path: PATH }]);
  assert.equal(editor.clipboard, "# policy");
  assert.deepEqual(last(panel), {
    kind: "announcement",
    sentence: "Copied the summary.",
  });
});

test("a closed page gets no message", async () => {
  let answer: (report: Report) => void = () => undefined;
  fake.sidecar.answers.set(
    REPORT.method,
    () => new Promise<Report>((resolve) => (answer = resolve)),
  );
  const panel = await opened();
  assert.equal(panel.webview.posted.length, 1);
  panel.close();
  answer(report());
  await settled();
  assert.equal(panel.webview.posted.length, 1);
});

const RUN = profiledRun().run;
const ROW = { row: "runWorker", run: aRun(), worker: runWorker() };

test("“Start Recording” and “Stop Recording” are for the workers of the rows", async () => {
  fake.sidecar.on(RUNS, () => ({ runs: [aRun()] }));
  fake.sidecar.on(LIST, () => ({ runs: [profiledRun()] }));
  fake.sidecar.on(RECORD, () => ({ workers: 1 }));
  fake.sidecar.on(STOP, () => ({ workers: 1 }));
  await editor.run("eagleray.recordNow", ROW);
  await editor.run("eagleray.stopRecording", ROW);
  assert.deepEqual(fake.sidecar.sentTo(RECORD), [{ run: RUN, workers: ["beef"] }]);
  assert.deepEqual(fake.sidecar.sentTo(STOP), [{ run: RUN, workers: ["beef"] }]);
});

test("without a row the only profiled run is taken, and a message says that there is none", async () => {
  fake.sidecar.on(RUNS, () => ({ runs: [aRun()] }));
  fake.sidecar.on(RECORD, () => ({ workers: 1 }));
  fake.sidecar.on(LIST, () => ({ runs: [profiledRun()] }));
  await editor.run("eagleray.recordNow");
  assert.deepEqual(fake.sidecar.sentTo(RECORD), [{ run: RUN, workers: [] }]);
  fake.sidecar.on(RUNS, () => ({ runs: [aRun({ state: "exited", ended: 1 })] }));
  await editor.run("eagleray.recordNow");
  assert.equal(fake.sidecar.sentTo(RECORD).length, 1);
  assert.equal(editor.asked.at(-1)?.text, "No run is being profiled.");
});

test("a worker without nsys gives a message, and no other one is recorded", async () => {
  fake.sidecar.on(RUNS, () => ({ runs: [aRun()] }));
  fake.sidecar.on(LIST, () => ({ runs: [profiledRun()] }));
  const stranger = { ...ROW, worker: runWorker({ worker_id: "f00d" }) };
  await editor.run("eagleray.recordNow", stranger);
  assert.deepEqual(fake.sidecar.sentTo(RECORD), []);
  assert.match(
    editor.asked.at(-1)?.text ?? "",
    /^These workers don’t run under nsys\..*“Profile on Ray…”/,
  );
});

test("“Stop and Download Reports” asks once for all that are selected", async () => {
  const runs = [aRun({ name: "one.py" }), aRun({ id: "other", name: "other.py" })];
  fake.sidecar.on(RUNS, () => ({ runs }));
  fake.sidecar.on(LIST, () => ({ runs: runs.map(({ id }) => profiledRun({ run: id })) }));
  editor.answer = ({ buttons }) => buttons[0];
  const rows = runs.map((run) => ({ row: "run", run }));
  await editor.run("eagleray.finishAndDownload", rows[0], rows);
  const [asked] = editor.asked;
  assert.equal(asked?.text, "Stop 2 runs?");
  assert.match(String(asked.options["detail"]), /:\none\.py\nother\.py$/);
  assert.deepEqual(
    fake.sidecar.sentTo(GATHER),
    runs.map(({ id }) => ({ run: id, finish: true })),
  );
});

test("“Stop and Download Reports” asks first, “Download Reports” does not", async () => {
  fake.sidecar.on(RUNS, () => ({ runs: [aRun({ confirm_stop: "Cancel SLURM job 5?" })] }));
  fake.sidecar.on(LIST, () => ({ runs: [profiledRun()] }));
  fake.sidecar.on(GATHER, () => ({ folder: "/w/out", reports: [] }));
  const row = { row: "run", run: aRun() };
  await editor.run("eagleray.finishAndDownload", row);
  assert.deepEqual(fake.sidecar.sentTo(GATHER), []);
  assert.match(
    String(editor.asked[0]?.options["detail"]),
    /ends the program\.\nCancel SLURM job 5\?$/,
  );
  editor.answer = () => "Stop and Download Reports";
  await editor.run("eagleray.finishAndDownload", row);
  await editor.run("eagleray.downloadReports", row);
  assert.deepEqual(fake.sidecar.sentTo(GATHER), [
    { run: RUN, finish: true },
    { run: RUN, finish: false },
  ]);
});

test("gathered reports are announced, with a button to open them", async () => {
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
  fake.sidecar.on(RUNS, () => ({ runs: [aRun()] }));
  fake.sidecar.notify(CHANGED, { runs: [profiledRun({ state: "gathering" })] });
  await settled();
  assert.equal(editor.contextKeys["eagleray.hasProfiled"], true);
  editor.answer = () => "Open Report";
  const workers = [profiledWorker({ state: "gathered", reports: [PATH] })];
  const gathered = profiledRun({ state: "gathered", gathered: 1, expected: 1, workers });
  fake.sidecar.notify(CHANGED, { runs: [gathered] });
  await settled();
  await settled();
  assert.equal(editor.asked[0]?.text, "Downloaded 1 report.");
  const [open] = editor.executed;
  assert.deepEqual([open?.command, open?.args[1]], ["vscode.openWith", "eagleray.nsysReport"]);
});

test("a recording can start while a run lives, also with all reports gathered", () => {
  const workers = [profiledWorker({ state: "gathered", reports: [PATH] })];
  const can = (changes: Partial<ProfiledRun>): unknown => {
    fake.sidecar.notify(CHANGED, { runs: [profiledRun({ workers, ...changes })] });
    return editor.contextKeys["eagleray.hasProfiled"];
  };
  assert.equal(can({ state: "idle" }), true);
  assert.equal(can({ workers: [profiledWorker({ state: "missing" })] }), false);
  assert.equal(can({ workers: [] }), false);
  assert.equal(can({ state: "gathered" }), false);
});

test("a run of another window is not announced", async () => {
  fake.sidecar.on(RUNS, () => ({ runs: [aRun({ workspace: "/elsewhere" })] }));
  fake.sidecar.notify(CHANGED, { runs: [profiledRun({ state: "gathering" })] });
  await settled();
  fake.sidecar.notify(CHANGED, { runs: [profiledRun({ state: "gathered" })] });
  await settled();
  await settled();
  assert.deepEqual(editor.asked, []);
});
