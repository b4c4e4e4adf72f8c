/** The page of a report: draws what the editor sends, its progress, or why the report can't be read. */

import { announce } from "./announcements";
import "@vscode-elements/elements/dist/vscode-progress-bar/index.js";
import "@vscode-elements/elements/dist/vscode-textfield/index.js";

import type { ToPage } from "../page_messages";
import type { ReportTexts } from "../report_texts";
import { onMessage, pageState, post, savePageState } from "./editor";
import { button, element, withCode } from "./elements";
import "./page.css";
import { ReportView } from "./report_view";

const page = document.getElementById("page") ?? document.body;
let texts: ReportTexts | undefined;
let loading: Loading | undefined;
let report: ReportView | undefined;

onMessage((message) => {
  if (message.kind === "texts") {
    ({ texts } = message);
  } else if (texts !== undefined) {
    // What comes earlier, while a hidden page is made again, follows the texts once more.
    take(message, texts);
  }
});

window.addEventListener("scrollend", () => {
  savePageState({ scroll: window.scrollY });
});
post({ kind: "ready" });

function take(message: Exclude<ToPage, { kind: "texts" }>, pageTexts: ReportTexts): void {
  switch (message.kind) {
    case "loading":
      if (loading === undefined) {
        loading = new Loading(pageTexts);
        show(loading.root);
      }
      loading.show(message.message, message.percentage);
      break;
    case "failed":
      show(failure(pageTexts, message.message, message.nextStep));
      break;
    case "report":
      report = new ReportView(pageTexts, message.report, message.title);
      show(report.root);
      window.scrollTo(0, pageState().scroll);
      break;
    case "table":
      report?.update(message.query, message.table);
      break;
    case "noTable":
      report?.fail(message.query, message.reason);
      break;
    case "announcement":
      announce(message.sentence);
      break;
  }
}

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

  constructor(pageTexts: ReportTexts) {
    const cancel = button(pageTexts.cancel, () => {
      post({ kind: "cancel" });
    });
    this.root = element(
      "section",
      { class: "state" },
      element("h1", {}, pageTexts.reading),
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

function failure(pageTexts: ReportTexts, message: string, nextStep: string): HTMLElement {
  const again = button(
    pageTexts.readAgain,
    () => {
      post({ kind: "again" });
    },
    true,
  );
  const others = (
    [
      [pageTexts.openInNsight, "openInNsight"],
      [pageTexts.copyPath, "copyPath"],
      [pageTexts.showLog, "showLogs"],
    ] as const
  ).map(([title, kind]) =>
    button(title, () => {
      post({ kind });
    }),
  );
  return element(
    "section",
    { class: "state", role: "alert" },
    element("h1", {}, pageTexts.notShown),
    element("p", {}, ...withCode(message)),
    ...(nextStep === "" ? [] : [element("p", {}, ...withCode(nextStep))]),
    element("div", { class: "buttons" }, again, ...others),
  );
}
