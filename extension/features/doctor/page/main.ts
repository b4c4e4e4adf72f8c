/** The page of a diagnosis: draws what the editor sends. */

import type { DiagnosisTexts } from "../diagnosis_texts";
import type { ToDiagnosisPage } from "../page_messages";
import { DiagnosisView } from "./diagnosis_view";
import { onMessage, pageState, post, savePageState } from "./editor";
import "./page.css";

/** How long a message such as “Copied.” is shown. */
const SHOWN_MS = 4000;

const page = document.getElementById("page") ?? document.body;
const announcement = document.getElementById("announcement") ?? document.body;
let texts: DiagnosisTexts | undefined;
let view: DiagnosisView | undefined;
let forgetting: number | undefined;

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

function take(
  message: Exclude<ToDiagnosisPage, { kind: "texts" }>,
  pageTexts: DiagnosisTexts,
): void {
  switch (message.kind) {
    case "diagnosis":
      savePageState({ stored: message.stored });
      view = new DiagnosisView(pageTexts, message.stored.diagnosis, message.from);
      page.replaceChildren(view.root);
      window.scrollTo(0, pageState().scroll);
      break;
    case "reading":
      view?.showReading(message.isOn);
      break;
    case "announcement":
      announce(message.sentence);
      break;
  }
}

function announce(sentence: string): void {
  announcement.textContent = sentence;
  window.clearTimeout(forgetting);
  forgetting = window.setTimeout(() => {
    announcement.textContent = "";
  }, SHOWN_MS);
}
