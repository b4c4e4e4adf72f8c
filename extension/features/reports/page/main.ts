/** The page of a report: draws what the editor sends. */

import "@vscode-elements/elements/dist/vscode-badge/index.js";
import "@vscode-elements/elements/dist/vscode-button/index.js";
import type { VscodeButton } from "@vscode-elements/elements/dist/vscode-button/index.js";
import "@vscode-elements/elements/dist/vscode-progress-bar/index.js";
import "@vscode-elements/elements/dist/vscode-textfield/index.js";

import { onMessage, pageState, post, savePageState } from "./editor";
import "./page.css";
import { ReportView } from "./report_view";
import { failure, Loading } from "./states";

/** How long a message such as “is in the clipboard” is shown. */
const SHOWN_MS = 4000;

const page = document.getElementById("page") ?? document.body;
const said = document.getElementById("said") ?? document.body;
let loading: Loading | undefined;
let report: ReportView | undefined;
let forgetting: number | undefined;

onMessage((message) => {
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
      report = new ReportView(message.report);
      show(report.root);
      window.scrollTo(0, pageState().scroll);
      break;
    case "table":
      report?.update(message.look, message.table);
      break;
    case "noTable":
      report?.fail(message.look, message.reason);
      break;
    case "said":
      say(message.sentence);
      break;
  }
});

window.addEventListener("scrollend", () => {
  savePageState({ scroll: window.scrollY });
});
post({ kind: "ready" });

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
    void focusOn(root.querySelector("vscode-button"));
  }
}

/** It takes the focus once it has drawn itself. */
async function focusOn(button: VscodeButton | null): Promise<void> {
  await button?.updateComplete;
  button?.focus({ preventScroll: true });
}

function say(sentence: string): void {
  said.textContent = sentence;
  window.clearTimeout(forgetting);
  forgetting = window.setTimeout(() => {
    said.textContent = "";
  }, SHOWN_MS);
}
