/** Rows that say what stands in the way, in every view the same. */

import { ROWS } from "../contributions";
import { lines, said, type RowTexts } from "./row_texts";
import type { ProblemRow } from "./rows";
import { plain } from "./texts";

export function problemTexts({ cluster, problem }: ProblemRow): RowTexts {
  const message = plain(problem.message, 500);
  const nextStep = plain(problem.next_step, 500);
  return {
    id: `problem ${cluster} ${problem.code} ${message}`,
    label: message,
    description: nextStep,
    tooltip: lines(problem.message, problem.next_step),
    spoken: said(message, nextStep),
    icon: "warning",
    color: "list.warningForeground",
    context: ROWS.problem,
    children: "none",
  };
}
