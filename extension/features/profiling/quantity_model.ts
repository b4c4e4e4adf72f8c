/** Numbers of a report as a person reads them, and as a program does. */

import type { Column } from "./messages";

export type Kind = Column["kind"];
export type Cell = string | number | null;

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const NS: readonly (readonly [number, string])[] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
];
const BARE_UNITS: Partial<Record<Kind, string>> = { ns: "ns", bytes: "bytes", rate: "bytes/s" };
/** What is missing. */
const NONE = "–";

/** "1.25 ms", "3.00 GiB", "12.5 %", "1 234"; text as it is, and a dash for what is not known. */
export function shown(cell: Cell, kind: Kind): string {
  if (cell === null) {
    return NONE;
  }
  if (typeof cell === "string") {
    return cell;
  }
  switch (kind) {
    case "ns":
      return spent(cell);
    case "bytes":
      return bytes(cell);
    case "share":
      return share(cell);
    case "rate":
      return `${bytes(cell)}/s`;
    case "count":
      return counted(cell);
    case "text":
      return String(cell);
  }
}

/** A time that was measured in nanoseconds. */
export function spent(ns: number): string {
  const [size, unit] = NS.find(([from]) => Math.abs(ns) >= from) ?? [1, "ns"];
  return `${figures(ns / size)} ${unit}`;
}

/** A part of a whole: 0.125 is "12.5 %". */
export function share(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}

/** The value for a program: bare numbers in the unit of the column's heading. */
export function bare(cell: Cell): string {
  return cell === null ? "" : String(cell);
}

/** The heading for a program names the unit. */
export function bareTitle({ title, kind }: Column): string {
  const unit = BARE_UNITS[kind] ?? "";
  return unit === "" ? title : `${title} (${unit})`;
}

/** Whether cells of this kind stand at the right, under one another. */
export function isNumber(kind: Kind): boolean {
  return kind !== "text";
}

function bytes(size: number): string {
  let left = size;
  let unit = 0;
  while (Math.abs(left) >= 1024 && unit < UNITS.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${counted(left)} B` : `${figures(left)} ${UNITS[unit] ?? ""}`;
}

/** Three figures; a whole number keeps all of its own. */
function figures(value: number): string {
  if (Number.isInteger(value)) {
    return counted(value);
  }
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** Thousands set apart by a narrow space, which no language takes for a decimal point. */
function counted(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/gu, Number.isInteger(value) ? "\u202f" : "");
}
