/** The messages between the editor and the page of a picture. */

import type { Stored, ToPage } from "../../page/page_messages";
import type { Picture, PictureTarget } from "./messages";

/** The facts that the page shows beside the picture: its origin, and what the editor can do with it. */
export interface ShownPicture {
  readonly picture: Picture;
  /** Where and when it was taken, or the file that it was read from. */
  readonly from: string;
  readonly canSampleAgain: boolean;
  /** Whether a thread in some processes may read more; not once it has. */
  readonly canReadInside: boolean;
  readonly canInspect: boolean;
  /** Undefined for a picture that is too large to be stored. */
  readonly stored: Omit<StoredPicture, "picture"> | undefined;
}

/** The state that the page keeps of its picture. */
export type StoredPicture = Stored<{
  readonly name: string;
  readonly target: PictureTarget | undefined;
  readonly picture: Picture;
}>;

export type ToPicturePage =
  | ToPage
  | ({ readonly kind: "picture" } & ShownPicture)
  /** The changes since the earlier picture that `title` names. */
  | { readonly kind: "changes"; readonly title: string; readonly sentences: readonly string[] };

export type FromPicturePage =
  | { readonly kind: "ready" | "again" | "readInside" | "readNative" }
  | { readonly kind: "save" | "compare" | "copyMarkdown" }
  | { readonly kind: "open"; readonly path: string; readonly line: number }
  | { readonly kind: "inspect"; readonly group: string; readonly rank: number };
