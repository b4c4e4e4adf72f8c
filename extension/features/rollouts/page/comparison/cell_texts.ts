/** What a cell of the heat map says. */

import { filled } from "../../../../common/filled";
import type { ComparisonTexts } from "../../comparison_texts";
import type { DeltaRow } from "../../messages";
import { figure } from "./figures";

/** "Sequence 3, token 12: Δlogp -0.013". */
export function cellSentence(texts: ComparisonTexts, row: DeltaRow, column: number): string {
  const { sequence, cells, at, cell_tokens, tokens } = row;
  const delta = figure(cells[column] ?? 0);
  const position = at[column] ?? 0;
  if (cell_tokens === 1) {
    return filled(texts.cell, sequence, position, delta);
  }
  const first = column * cell_tokens;
  const last = Math.min(first + cell_tokens, tokens) - 1;
  return filled(texts.cellOf, sequence, first, last, position, delta);
}
