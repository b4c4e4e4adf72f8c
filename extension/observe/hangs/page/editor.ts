/** The page's messages to the editor, and its state while it is hidden. */

import { pageEditor } from "../../../page/frame/editor";
import type { FromPicturePage, StoredPicture, ToPicturePage } from "../page_messages";
import { NO_FILTER, type Filter } from "./filters";
import type { RankOrder } from "./rank_table";

/** The user's position, filters, and order of the table. */
interface PicturePageState {
  readonly scroll: number;
  readonly filter: Filter;
  readonly showsAll: boolean;
  readonly closed: readonly string[];
  readonly order: RankOrder;
  readonly stored: StoredPicture | undefined;
}

export const { start, post, exportButton, pageState, savePageState } = pageEditor<
  FromPicturePage,
  ToPicturePage,
  PicturePageState
>({
  scroll: 0,
  filter: NO_FILTER,
  showsAll: false,
  closed: [],
  order: { sort: "", descending: false },
  stored: undefined,
});
