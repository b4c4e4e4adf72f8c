/** The page of a comparison of engines: draws what the editor sends. */

import { announce } from "../../../page/frame/announcements";

import { ComparisonView } from "./comparison_view";
import { onMessage, pageState, post, savePageState } from "./editor";
import "./page.css";

const page = document.getElementById("page") ?? document.body;
let view: ComparisonView | undefined;

onMessage((message) => {
  switch (message.kind) {
    case "comparison": {
      const { comparison, stored, data } = message;
      savePageState({ stored: stored && { ...stored, comparison } });
      view = new ComparisonView(comparison, data, (kind) => {
        post({ kind });
      });
      page.replaceChildren(view.root);
      window.scrollTo(0, pageState().scroll);
      break;
    }
    case "busy":
      view?.showComparing(message.isOn);
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
