/** The page of a value: draws what the editor sends. */

import { page } from "../../../page/frame/editor";
import { pageState, start } from "./editor";
import "./page.css";
import { ValueView } from "./value_view";

let view: ValueView | undefined;

start((message) => {
  switch (message.kind) {
    case "value":
      if (view === undefined) {
        view = new ValueView();
        page.replaceChildren(view.root);
      }
      view.draw(message.shown);
      window.scrollTo(0, pageState().scroll);
      break;
    case "children":
      view?.fill(message.expression, message.record);
      break;
  }
});
