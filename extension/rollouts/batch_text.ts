/** The contents of a saved batch, as the text of a document. */

import { l10n } from "vscode";

import { plain } from "../common/texts";
import type { BatchSummary, BatchTensor, DescribedBatch, MaskedValues } from "./messages";

const LONGEST = 400;

export function batchText(path: string, { summary, findings }: DescribedBatch): string {
  const { kind, torch, tensors, masked, values, left_out } = summary;
  const parts = [
    [plain(path, LONGEST), `${plain(kind)} · torch ${plain(torch)} · ${loadedText(summary)}`],
    findings.map((sentence) => `! ${plain(sentence, LONGEST)}`),
    tableLines([headings(), ...tensors.map(cells)]),
    masked.length === 0 ? [] : [l10n.t("Of trained tokens:"), ...masked.map(maskedLine)],
    values.map(({ name, type, text }) => `${plain(name)} (${plain(type)}): ${plain(text)}`),
    left_out === 0 ? [] : [l10n.t("{0} more parts.", left_out)],
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join("\n")}\n`)
    .join("\n");
}

function loadedText({ loaded, names }: BatchSummary): string {
  return loaded === "weights_only"
    ? l10n.t("loaded without executing anything")
    : l10n.t("unpickled: {0}", plain(names.join(", "), LONGEST));
}

function headings(): string[] {
  return [
    l10n.t("Tensor"),
    l10n.t("Shape"),
    l10n.t("Dtype"),
    l10n.t("Min"),
    l10n.t("Mean"),
    l10n.t("Max"),
    l10n.t("Std"),
    l10n.t("NaN"),
    l10n.t("Infinite"),
    l10n.t("Row sums"),
  ];
}

function cells(tensor: BatchTensor): string[] {
  const { name, shape, dtype, least, mean, most, std, nan, infinite, row_sums } = tensor;
  return [
    plain(name),
    shape.join("x") || "1",
    plain(dtype),
    ...[least, mean, most, std].map(valueText),
    nan === 0 ? "" : String(nan),
    infinite === 0 ? "" : String(infinite),
    row_sums === null ? "" : `${valueText(row_sums.least)}-${valueText(row_sums.most)}`,
  ];
}

function maskedLine({ name, count, least, most, mean, std }: MaskedValues): string {
  const [low, high, middle, spread] = [least, most, mean, std].map(valueText);
  return l10n.t(
    "  {0}: {1} values, {2} to {3}, mean {4}, std {5}",
    ...[plain(name), count, low, high, middle, spread].map((each) => each ?? ""),
  );
}

function valueText(value: number | null): string {
  return value === null ? "" : String(Number(value.toPrecision(5)));
}

/** Columns as wide as their longest cell, without those that have no values. */
function tableLines(rows: readonly (readonly string[])[]): string[] {
  const [first = []] = rows;
  const used = first.map((_, column) => rows.slice(1).some((row) => row[column] !== ""));
  const widths = first.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .filter((_, column) => used[column])
      .join("  ")
      .trimEnd(),
  );
}
