/** The page of a comparison of engines: draws what the editor sends. */

import { page } from "../../../page/frame/editor";

import { ComparisonView } from "./comparison_view";
import { exportButton, pageState, post, savePageState, start } from "./editor";
import "./page.css";

let view: ComparisonView | undefined;

start((message) => {
  switch (message.kind) {
    case "comparison": {
      const { comparison, stored, data } = message;
      savePageState({ stored: stored && { ...stored, comparison } });
      const request = (kind: "again" | "save" | "copyMarkdown"): void => {
        post({ kind });
      };
      view = new ComparisonView(comparison, data, request, exportButton());
      page.replaceChildren(view.root);
      window.scrollTo(0, pageState().scroll);
      break;
    }
    case "busy":
      view?.showComparing(message.isOn);
      break;
  }
});
