/** The page of a picture: draws what the editor sends. */

import { announce } from "../../../page/frame/announcements";

import { onMessage, pageState, post, savePageState } from "./editor";
import "./page.css";
import { PictureView } from "./picture_view";

const page = document.getElementById("page") ?? document.body;
let view: PictureView | undefined;

onMessage((message) => {
  switch (message.kind) {
    case "picture": {
      const { picture, stored } = message;
      savePageState({ stored: stored && { ...stored, picture } });
      view = new PictureView(message);
      page.replaceChildren(view.root);
      window.scrollTo(0, pageState().scroll);
      break;
    }
    case "changes":
      view?.verdict.showChanges(message.title, message.sentences);
      break;
    case "busy":
      view?.verdict.showSampling(message.isOn);
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
