/** A row of any view, as commands get it from context menus, keys and inline buttons. */

import type { ClustersRow } from "./features/clusters/rows";
import type { RunsRow } from "./features/runs/rows";
import type { AllRow, PausedRow } from "./features/workers/rows";

/** Whether `value` is a row: commands may be called with anything, by keys, other extensions and tests. */
export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && "row" in value;
}
export type Row = PausedRow | ClustersRow | AllRow | RunsRow;
