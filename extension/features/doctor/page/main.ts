/** The page of a diagnosis: draws what the editor sends. */

import { announce } from "../../reports/page/announcements";
import type { DiagnosisTexts } from "../diagnosis_texts";
import type { ToDiagnosisPage } from "../page_messages";
import { DiagnosisView } from "./diagnosis_view";
import { onMessage, pageState, post, savePageState } from "./editor";
import "./page.css";

const page = document.getElementById("page") ?? document.body;
let texts: DiagnosisTexts | undefined;
let view: DiagnosisView | undefined;

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
    case "watching":
      view?.showWatching(message.isOn);
      break;
    case "announcement":
      announce(message.sentence);
      break;
  }
}
