/** The record of a value, as `inside/views.py` makes it in a worker, and the messages between the editor and its page. */

import type { ToPage } from "../../page/page_messages";

/** A number; text where JSON has none: nan, inf, and integers with many digits. */
export type ValueNumber = number | string;

/** `how`: of "all" numbers, of the "first", or of some that are "spread" over the array. */
export interface ValueStatistics {
  readonly count: number;
  readonly of: number;
  readonly how: string;
  readonly nan: number;
  readonly inf: number;
  readonly zeros: number;
  readonly min: ValueNumber | null;
  readonly max: ValueNumber | null;
  readonly mean: ValueNumber | null;
  readonly std: ValueNumber | null;
  readonly bins: readonly number[];
}

/** The part of an array that is shown; `at` has an index in each dimension but the last two. */
export interface ValuePart {
  readonly at: readonly number[];
  readonly row: number;
  readonly rows: number;
  readonly row_step: number;
  readonly column: number;
  readonly columns: number;
  readonly column_step: number;
}

export interface ValueGrid extends ValuePart {
  readonly cells: readonly (readonly ValueNumber[])[];
}

/** Missing values are counted in the first `counted` rows. */
export interface ValueTable {
  readonly row: number;
  readonly column: number;
  readonly counted: number;
  readonly columns: readonly { name: string; dtype: string; nulls: number }[];
  readonly index: readonly string[];
  readonly cells: readonly (readonly ValueNumber[])[];
}

/** `reach` is what follows the expression of the owner, "" if none does; `count` says how many children it has itself. */
export interface ValueChild {
  readonly name: string;
  readonly type: string;
  readonly text: string;
  readonly reach: string;
  readonly count: number;
  readonly is_array: boolean;
}

/** `why`: the reason why some of it is missing.  One with `error` lacks everything else; `refused` ones may be forced. */
export interface ValueRecord {
  readonly type?: string;
  readonly text?: string;
  readonly shape?: readonly number[];
  readonly dtype?: string;
  readonly device?: string;
  readonly bytes?: number;
  readonly local?: boolean;
  readonly statistics?: ValueStatistics;
  readonly grid?: ValueGrid;
  readonly table?: ValueTable;
  readonly children?: readonly ValueChild[];
  readonly left_out?: number;
  readonly why?: string;
  readonly error?: string;
  readonly refused?: boolean;
}

/** `old`: why these aren't the numbers of now, "" if they are. */
export interface ShownValue {
  readonly expression: string;
  readonly worker: string;
  readonly place: string;
  readonly record: ValueRecord;
  readonly old: string;
  readonly isImage: boolean;
}

export type ToValuePage =
  | ToPage
  | { readonly kind: "value"; readonly shown: ShownValue }
  | { readonly kind: "children"; readonly expression: string; readonly record: ValueRecord };

export type FromValuePage =
  | { readonly kind: "ready" | "force" }
  /** Another part of the numbers, or of the rows of a table. */
  | { readonly kind: "part"; readonly part: Partial<ValuePart>; readonly isImage: boolean }
  /** The children of a child, or its own page. */
  | { readonly kind: "expand" | "open"; readonly expression: string };
