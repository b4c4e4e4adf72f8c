/** The page’s messages to the editor, and its state while it is hidden. */

import { pageEditor } from "../../../page/frame/editor";
import type { FromValuePage, ToValuePage } from "../value_messages";

interface ValuePageState {
  readonly scroll: number;
}

export const { start, post, pageState } = pageEditor<FromValuePage, ToValuePage, ValuePageState>({
  scroll: 0,
});
