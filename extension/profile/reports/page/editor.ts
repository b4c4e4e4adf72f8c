/** The page's messages to the editor, and its state while it is hidden. */

import { pageEditor } from "../../../page/frame/editor";
import type { FromPage, TableQuery, ToReportPage } from "../page_messages";

/** The user's position: the scroll offset, and the query of each table. */
interface PageState {
  readonly scroll: number;
  readonly queries: Readonly<Partial<Record<TableQuery["table"], TableQuery>>>;
}

export const { start, post, exportButton, pageState, savePageState } = pageEditor<
  FromPage,
  ToReportPage,
  PageState
>({ scroll: 0, queries: {} });
