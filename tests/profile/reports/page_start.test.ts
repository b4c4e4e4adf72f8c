// The page of a report whose sidecar has not started.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError, sidecarLost, sidecarSilent } from "../../../extension/common/errors";
import { register } from "../../../extension/profile/reports";
import { REPORT } from "../../../extension/profile/reports/messages";
import type { ToReportPage } from "../../../extension/profile/reports/page_messages";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach } from "../../fakes/registered";
import { editor, Uri } from "../../fakes/vscode";
import { FakeWebviewPanel } from "../../fakes/vscode_webviews";
import { report } from "../recordings/samples";

let fake: FakeApp;

registeredForEach(register, (made) => {
  fake = made;
});

const CASES: readonly (readonly [string, EaglerayError, ToReportPage["kind"]])[] = [
  ["is read once it has started", sidecarSilent(120, ""), "report"],
  // The report itself may be what has ended it.
  ["is not read again by itself where it ended meanwhile", sidecarLost(), "failed"],
];

for (const [what, error, kind] of CASES) {
  test(`a report whose sidecar did not answer ${what}`, async () => {
    fake.sidecar.on(REPORT, () => {
      throw error;
    });
    const panel = new FakeWebviewPanel();
    await editor.editors
      .get("eagleray.nsysReport")
      ?.resolveCustomEditor({ uri: Uri.file("/w/policy.nsys-rep") }, panel);
    panel.webview.says({ kind: "ready" });
    await settled();
    assert.equal((panel.webview.posted.at(-1) as ToReportPage).kind, "failed");
    fake.sidecar.on(REPORT, () => report());
    fake.sidecar.started();
    await settled();
    assert.equal((panel.webview.posted.at(-1) as ToReportPage).kind, kind);
  });
}
