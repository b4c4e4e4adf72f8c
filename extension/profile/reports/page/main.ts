/** The page of a report: draws what the editor sends, its progress, or why the report can't be read. */

import { l10n } from "../../../page/frame/l10n";
import { page } from "../../../page/frame/editor";
import "@vscode-elements/elements/dist/vscode-progress-bar/index.js";
import "@vscode-elements/elements/dist/vscode-textfield/index.js";

import { pageState, post, start } from "./editor";
import { button, element, withCode } from "../../../page/frame/elements";
import "./page.css";
import { ReportView } from "./report_view";

let loading: Loading | undefined;
let report: ReportView | undefined;

start((message) => {
  switch (message.kind) {
    case "loading":
      if (loading === undefined) {
        loading = new Loading();
        show(loading.root);
      }
      loading.show(message.message, message.percentage);
      break;
    case "failed":
      show(failure(message.message, message.nextStep));
      break;
    case "report":
      report = new ReportView(message.report, message.title);
      show(report.root);
      window.scrollTo(0, pageState().scroll);
      break;
    case "table":
      report?.update(message.query, message.table);
      break;
    case "noTable":
      report?.fail(message.query, message.reason);
      break;
  }
});

function show(root: HTMLElement): void {
  if (root !== loading?.root) {
    loading = undefined;
  }
  if (root !== report?.root) {
    report?.end();
    report = undefined;
  }
  const hadFocus = page.contains(document.activeElement);
  page.replaceChildren(root);
  if (hadFocus) {
    // After a button was pressed by a key, the keyboard focus continues at the next one.
    root.querySelector("button")?.focus({ preventScroll: true });
  }
}

class Loading {
  readonly root: HTMLElement;
  private readonly sentence = element("p", { role: "status" });
  private readonly bar = element("vscode-progress-bar");

  constructor() {
    const cancel = button(l10n.t("Cancel"), () => {
      post({ kind: "cancel" });
    });
    this.root = element(
      "section",
      { class: "state" },
      element("h1", {}, l10n.t("Reading the Report")),
      this.bar,
      this.sentence,
      cancel,
    );
  }

  show(message: string, percentage: number | null): void {
    this.sentence.textContent = percentage === null ? message : `${message}: ${percentage} %`;
    this.bar.indeterminate = percentage === null;
    if (percentage !== null) {
      this.bar.value = percentage;
    }
  }
}

function failure(message: string, nextStep: string): HTMLElement {
  const again = button(
    l10n.t("Read It Again"),
    () => {
      post({ kind: "again" });
    },
    true,
  );
  const others = (
    [
      [l10n.t("Open in Nsight Systems"), "openInNsight"],
      [l10n.t("Copy Path"), "copyPath"],
      [l10n.t("Show Log"), "showLogs"],
    ] as const
  ).map(([title, kind]) =>
    button(title, () => {
      post({ kind });
    }),
  );
  return element(
    "section",
    { class: "state", role: "alert" },
    element("h1", {}, l10n.t("This Report Is Not Shown")),
    element("p", {}, ...withCode(message)),
    ...(nextStep === "" ? [] : [element("p", {}, ...withCode(nextStep))]),
    element("div", { class: "buttons" }, again, ...others),
  );
}
