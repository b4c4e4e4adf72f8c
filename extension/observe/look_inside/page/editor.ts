/** The page’s messages to the editor, and its state while it is hidden. */

import { pageEditor } from "../../../page/frame/editor";
import type { FromValuePage, ToValuePage } from "../value_messages";

interface ValuePageState {
  readonly scroll: number;
  /** Whether numbers are shown as an image. */
  readonly isImage: boolean;
}

export const { start, post, pageState, savePageState } = pageEditor<
  FromValuePage,
  ToValuePage,
  ValuePageState
>({ scroll: 0, isImage: false });
