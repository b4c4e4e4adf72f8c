/** The messages between the editor and the page of a comparison of engines. */

import type { ComparisonTexts } from "./comparison_texts";
import type { ComparisonRequest, ShownComparison } from "./messages";

/** What was compared, and the result; `version` is that of the extension. */
export interface StoredComparison {
  readonly version: string;
  readonly request: ComparisonRequest;
  readonly comparison: ShownComparison;
}

export type ToComparisonPage =
  /** The first message. */
  | { readonly kind: "texts"; readonly texts: ComparisonTexts }
  | {
      readonly kind: "comparison";
      readonly comparison: ShownComparison;
      /** The name of the prompts' file, "" for none. */
      readonly data: string;
      /** What a reload of the window restores; undefined for a comparison that is too large to be stored. */
      readonly stored: Omit<StoredComparison, "comparison"> | undefined;
    }
  /** What has just been done, for a few seconds. */
  | { readonly kind: "announcement"; readonly sentence: string }
  /** The same is being compared again, or no longer. */
  | { readonly kind: "comparing"; readonly isOn: boolean };

export interface FromComparisonPage {
  readonly kind: "ready" | "again" | "save" | "copyMarkdown";
}
