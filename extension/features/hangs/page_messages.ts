/** The messages between the editor and the page of a picture. */

import type { Picture, PictureTarget } from "./messages";
import type { PictureTexts } from "./picture_texts";

/** What the page shows beside the picture: where it is from, and what the editor can do with it. */
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

/** What the page keeps of its picture, so that a reload of the window restores it; `version` is that of the extension. */
export interface StoredPicture {
  readonly version: string;
  readonly name: string;
  readonly target: PictureTarget | undefined;
  readonly picture: Picture;
}

export type ToPicturePage =
  /** The first message. */
  | { readonly kind: "texts"; readonly texts: PictureTexts }
  | ({ readonly kind: "picture" } & ShownPicture)
  /** What has moved since the earlier picture that `title` names. */
  | { readonly kind: "changes"; readonly title: string; readonly sentences: readonly string[] }
  /** A new picture is being taken, or no longer. */
  | { readonly kind: "sampling"; readonly isOn: boolean }
  /** Something that a screen reader should say, such as that a picture was saved. */
  | { readonly kind: "announcement"; readonly sentence: string };

export type FromPicturePage =
  | { readonly kind: "ready" | "again" | "readInside" | "readNative" }
  | { readonly kind: "save" | "compare" | "copyMarkdown" }
  | { readonly kind: "open"; readonly path: string; readonly line: number }
  | { readonly kind: "inspect"; readonly group: string; readonly rank: number };
