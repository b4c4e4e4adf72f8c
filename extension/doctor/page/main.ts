/** The page of a diagnosis: draws what the editor sends. */

import { announce } from "../../page/frame/announcements";
import { DiagnosisView } from "./diagnosis_view";
import { onMessage, pageState, post, savePageState } from "./editor";
import "./page.css";

const page = document.getElementById("page") ?? document.body;
let view: DiagnosisView | undefined;

onMessage((message) => {
  switch (message.kind) {
    case "diagnosis":
      savePageState({ stored: message.stored });
      view = new DiagnosisView(message.stored.diagnosis, message.from);
      page.replaceChildren(view.root);
      window.scrollTo(0, pageState().scroll);
      break;
    case "busy":
      view?.showReading(message.isOn);
      break;
    case "watching":
      view?.showWatching(message.isOn);
      break;
    case "announcement":
      announce(message.sentence);
      break;
  }
});

window.addEventListener("scrollend", () => {
  savePageState({ scroll: window.scrollY });
});
post({ kind: "ready" });
