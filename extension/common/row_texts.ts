/** The texts and icon of a row in a view, as a value. */

import { plain } from "./texts";

export interface RowTexts {
  /** The same for the same thing after a refresh, so that selection and expansion stay. */
  readonly id: string;
  readonly label: string;
  readonly description: string;
  /** One fact a line. */
  readonly tooltip: string;
  /** What a screen reader reads instead of label and description. */
  readonly spoken: string;
  readonly icon: string;
  /** The id of a theme colour for the icon. */
  readonly color?: string;
  /** Which menus the row has. */
  readonly context: string;
  readonly children: "none" | "collapsed" | "expanded";
}

/** "a · b · c" of those that are not empty. */
export function dotted(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

/** "a, b, c" of those that are not empty, as one would say it. */
export function spokenText(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(", ");
}

/** Lines of a tooltip; those that came from a cluster are made plain one by one. */
export function lines(...parts: readonly string[]): string {
  return parts
    .filter((part) => part !== "")
    .map((part) => plain(part, 500))
    .join("\n");
}
