/** The messages between the editor and the page of a comparison of engines. */

import type { Stored, ToPage } from "../page/page_messages";
import type { ComparisonRequest, ShownComparison } from "./messages";

/** The compared sources, and the result. */
export type StoredComparison = Stored<{
  readonly request: ComparisonRequest;
  readonly comparison: ShownComparison;
}>;

export type ToComparisonPage =
  | ToPage
  | {
      readonly kind: "comparison";
      readonly comparison: ShownComparison;
      /** The name of the prompts' file, "" for none. */
      readonly data: string;
      /** The state that a reload of the window restores; undefined for a comparison that is too large to be stored. */
      readonly stored: Omit<StoredComparison, "comparison"> | undefined;
    };

export interface FromComparisonPage {
  readonly kind: "ready" | "again" | "save" | "copyMarkdown";
}
