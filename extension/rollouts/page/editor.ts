/** The page's messages to the editor, and its state while it is hidden. */

import { pageEditor } from "../../page/frame/editor";
import {
  NO_QUERY,
  type FromTrajectoryPage,
  type ListQuery,
  type ToTrajectoryPage,
} from "../page_messages";
import type { ColourMode } from "./token_colours";

/** The place of the user; the editor restores the tab by `path` and `name`. */
interface TrajectoryPageState {
  readonly path: string;
  readonly name: string;
  readonly scroll: number;
  readonly query: ListQuery;
  /** 0: none is open. */
  readonly item: number;
  readonly colour: ColourMode | "";
}

export const { post, onMessage, pageState, savePageState } = pageEditor<
  FromTrajectoryPage,
  ToTrajectoryPage,
  TrajectoryPageState
>({ path: "", name: "", scroll: 0, query: NO_QUERY, item: 0, colour: "" });
