/** The messages that every page understands. */

export type ToPage =
  /** What has just been done, such as that a table was copied: shown for a few seconds and read out. */
  | { readonly kind: "announcement"; readonly sentence: string }
  /** What the page shows is being made again, or no longer. */
  | { readonly kind: "busy"; readonly isOn: boolean };

/** What a page stores, so that a reload of the window restores it; another version may read other fields. */
export type Stored<T> = T & { readonly version: string };
