/** The page’s messages to the editor, and its state while it is hidden. */

import { pageEditor } from "../../page/frame/editor";
import type { FromDiagnosisPage, StoredDiagnosis, ToDiagnosisPage } from "../page_messages";

/** The user's position, and which folded parts are open. */
interface DiagnosisPageState {
  readonly scroll: number;
  readonly open: readonly string[];
  readonly stored: StoredDiagnosis | undefined;
}

export const { start, post, exportButton, pageState, savePageState } = pageEditor<
  FromDiagnosisPage,
  ToDiagnosisPage,
  DiagnosisPageState
>({ scroll: 0, open: [], stored: undefined });
