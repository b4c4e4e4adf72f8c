/** The page of a picture: draws what the editor sends. */

import { page } from "../../../page/frame/editor";

import { pageState, savePageState, start } from "./editor";
import "./page.css";
import { PictureView } from "./picture_view";

let view: PictureView | undefined;

start((message) => {
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
  }
});
