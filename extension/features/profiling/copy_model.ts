/** Tables and the whole summary as text for other programs: Markdown and CSV. */

import { factsOf, gpuFact } from "./facts_model";
import type { Report, Table } from "./messages";
import { bare, bareTitle, isNumber, shown } from "./quantity_model";

export type Format = "markdown" | "csv";

export function tableText(table: Table, format: Format): string {
  return format === "csv" ? csvOf(table) : markdownOf(table);
}

/** RFC 4180; what a spreadsheet would take for a formula is kept from being one. */
export function csvOf({ columns, rows }: Table): string {
  const lines = [
    columns.map((column) => quoted(bareTitle(column))),
    ...rows.map((row) => row.map((cell) => (typeof cell === "string" ? quoted(cell) : bare(cell)))),
  ];
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}

export function markdownOf({ columns, rows }: Table): string {
  const lines = [
    columns.map(({ title }) => escaped(title)),
    columns.map(({ kind }) => (isNumber(kind) ? "---:" : "---")),
    ...rows.map((row) =>
      columns.map(({ kind }, index) => escaped(shown(row[index] ?? null, kind))),
    ),
  ];
  return lines.map((line) => `| ${line.join(" | ")} |\n`).join("");
}

/** The page from top to bottom. */
export function reportText(name: string, report: Report): string {
  return [
    `# ${escaped(name)}\n`,
    ...section("Warnings", problemLines(report)),
    ...section("Summary", factLines(report)),
    ...report.tables.map((table) => tablePart(table)),
  ].join("\n");
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}\n\n${lines.join("\n")}\n`];
}

function problemLines({ warnings }: Report): string[] {
  return warnings.map(({ message, next_step }) => `- ${escaped(`${message} ${next_step}`.trim())}`);
}

function factLines(report: Report): string[] {
  const facts = [...report.gpus.map(gpuFact), ...factsOf(report)];
  return facts.map(({ name, value }) => `- ${escaped(name)}: ${escaped(value)}`);
}

function tablePart(table: Table): string {
  const left = table.total - table.rows.length;
  const body =
    table.rows.length === 0 ? `${escaped(table.note) || "Nothing."}\n` : markdownOf(table);
  return `## ${escaped(table.title)}\n\n${body}${left > 0 ? `\n… and ${left} more\n` : ""}`;
}

/** Names of kernels and ranges came from a program: no markup, no line end, no escape. */
function escaped(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]+/gu, " ")
    .replace(/[\\`*_{}[\]<>#|~&!]/gu, (sign) => `\\${sign}`);
}

/** Where another language’s spreadsheet begins a new cell, and what a cell begins with that is a formula. */
const FORMULA = /(?<=^|[;\t\r\n])(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])/gu;

function quoted(text: string): string {
  const safe = text.replace(FORMULA, "'");
  return /[",\r\n]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
