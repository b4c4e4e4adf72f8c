/** Numbers of a comparison as display text, what a cell of its map says, and the level of a difference. */

import { l10n } from "../../../page/frame/l10n";
import type { DeltaRow } from "../../messages";

/** The size of a difference from which each level begins: kernels, precision, weights, and beyond. */
export const LEVELS = [1e-3, 1e-2, 1e-1, 1] as const;

/** 0 below the first level. */
export function levelOf(delta: number): number {
  return LEVELS.filter((least) => Math.abs(delta) >= least).length;
}

/** "0.0152", "1.94e-4": three digits. */
export function figure(value: number): string {
  const size = Math.abs(value);
  return size === 0 || size >= 1e-3
    ? String(Number(value.toPrecision(3)))
    : value.toExponential(2).replace(/\.?0+e/, "e");
}

export function fixed(value: number, digits: number): string {
  return value.toFixed(digits);
}

/** "Sequence 3, token 12: Δlogp -0.013". */
export function cellSentence(row: DeltaRow, column: number): string {
  const { sequence, cells, at, cell_tokens, tokens } = row;
  const delta = figure(cells[column] ?? 0);
  const position = at[column] ?? 0;
  if (cell_tokens === 1) {
    return l10n.t("Sequence {0}, token {1}: Δlogp {2}", sequence, position, delta);
  }
  const first = column * cell_tokens;
  const last = Math.min(first + cell_tokens, tokens) - 1;
  return l10n.t(
    "Sequence {0}, tokens {1} to {2}: Δlogp {4} at {3}",
    sequence,
    first,
    last,
    position,
    delta,
  );
}
