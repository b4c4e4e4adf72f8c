/** The page of a picture: draws what the editor sends. */

import { announce } from "../../reports/page/announcements";
import type { ToPicturePage } from "../page_messages";
import type { PictureTexts } from "../picture_texts";
import { onMessage, pageState, post, savePageState } from "./editor";
import "./page.css";
import { PictureView } from "./picture_view";

const page = document.getElementById("page") ?? document.body;
let texts: PictureTexts | undefined;
let view: PictureView | undefined;

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

function take(message: Exclude<ToPicturePage, { kind: "texts" }>, pageTexts: PictureTexts): void {
  switch (message.kind) {
    case "picture": {
      const { picture, stored } = message;
      savePageState({ stored: stored && { ...stored, picture } });
      view = new PictureView(pageTexts, message);
      page.replaceChildren(view.root);
      window.scrollTo(0, pageState().scroll);
      break;
    }
    case "changes":
      view?.verdict.showChanges(message.title, message.sentences);
      break;
    case "sampling":
      view?.verdict.showSampling(message.isOn);
      break;
    case "announcement":
      announce(message.sentence);
      break;
  }
}
