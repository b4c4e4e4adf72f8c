/** The page’s messages to the editor, and its state while it is hidden. */

import { pageEditor } from "../../../page/frame/editor";
import type {
  FromComparisonPage,
  StoredComparison,
  ToComparisonPage,
} from "../../comparison_messages";

interface ComparisonPageState {
  readonly stored: StoredComparison | undefined;
  readonly scroll: number;
}

export const { start, post, exportButton, pageState, savePageState } = pageEditor<
  FromComparisonPage,
  ToComparisonPage,
  ComparisonPageState
>({ stored: undefined, scroll: 0 });
