/** The page of a comparison of engines: draws what the editor sends. */

import { announce } from "../../../reports/page/announcements";
import type { ComparisonTexts } from "../../comparison_texts";
import { ComparisonView } from "./comparison_view";
import { onMessage, pageState, post, savePageState } from "./editor";
import "./page.css";

const page = document.getElementById("page") ?? document.body;
let texts: ComparisonTexts | undefined;
let view: ComparisonView | undefined;

onMessage((message) => {
  if (message.kind === "texts") {
    ({ texts } = message);
  } else if (message.kind === "comparing") {
    view?.showComparing(message.isOn);
  } else if (message.kind === "announcement") {
    announce(message.sentence);
  } else if (texts !== undefined) {
    const { comparison, stored, data } = message;
    savePageState({ stored: stored && { ...stored, comparison } });
    view = new ComparisonView(texts, comparison, data, (kind) => {
      post({ kind });
    });
    page.replaceChildren(view.root);
    window.scrollTo(0, pageState().scroll);
  }
});

window.addEventListener("scrollend", () => {
  savePageState({ scroll: window.scrollY });
});
post({ kind: "ready" });
