/** The page of a diagnosis: draws what the editor sends. */

import { page } from "../../page/frame/editor";
import { DiagnosisView } from "./diagnosis_view";
import { pageState, savePageState, start } from "./editor";
import "./page.css";

let view: DiagnosisView | undefined;

start((message) => {
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
  }
});
