/** The messages that every page understands. */

export type ToPage =
  /** The action that was just done, such as a copied table: shown for a few seconds and read out. */
  | { readonly kind: "announcement"; readonly sentence: string }
  /** Whether the content of the page is being made again. */
  | { readonly kind: "busy"; readonly isOn: boolean };

/** Asks for the page as a file, as every page may. */
export interface ExportRequest {
  readonly kind: "export";
}

/** The state that a page stores, so that a reload of the window restores it; another version may read other fields. */
export type Stored<T> = T & { readonly version: string };
