/** Numbers and names of a report as display text. */

import { singleLine } from "../../../page/frame/texts";
import { l10n } from "../../../page/frame/l10n";
import type { Column, GpuUsage, Report } from "../messages";

export type ColumnKind = Column["kind"];
export type Cell = string | number | null;

/** As nsys writes them. */
const SIZES = ["B", "kB", "MB", "GB", "TB", "PB"];
const TIMES = ["ns", "µs", "ms", "s"];
const STEP = 1000;
/** A missing value. */
const NONE = "–";

/** "1.25 ms", "3.00 GB", "12.5 %", "1 234"; text as it is, and a dash for what is not known. */
export function cellText(cell: Cell, kind: ColumnKind): string {
  if (cell === null) {
    return NONE;
  }
  if (typeof cell === "string") {
    return cell;
  }
  switch (kind) {
    case "ns":
      return nanosecondsText(cell);
    case "bytes":
      return bytesText(cell);
    case "share":
      return shareText(cell);
    case "rate":
      return `${bytesText(cell)}/s`;
    case "count":
      return countText(cell);
    case "text":
      return String(cell);
  }
}

/** A time that was measured in nanoseconds. */
export function nanosecondsText(ns: number): string {
  return inUnits(ns, TIMES);
}

/** A part of a whole: 0.125 is "12.5 %". */
export function shareText(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}

/** Whether cells of this kind are aligned right. */
export function isNumber(kind: ColumnKind): boolean {
  return kind !== "text";
}

function bytesText(size: number): string {
  return inUnits(size, SIZES);
}

/** In the unit of which there is at least one when the number has been rounded, each a thousand of the one before. */
function inUnits(size: number, units: readonly string[]): string {
  let left = size;
  let unit = 0;
  while (Math.abs(rounded(left)) >= STEP && unit < units.length - 1) {
    left /= STEP;
    unit += 1;
  }
  return `${figures(left)} ${units[unit] ?? ""}`;
}

/** Three figures; a whole number keeps all of its own. */
function figures(value: number): string {
  return Number.isInteger(value) ? countText(value) : value.toFixed(placesOf(value));
}

function rounded(value: number): number {
  return Number(value.toFixed(placesOf(value)));
}

/** As many as are left of three figures; 9.996 is rounded to 10.0 and not to 10.00. */
function placesOf(value: number): number {
  const size = Math.abs(Number(value.toPrecision(3)));
  return size >= 100 ? 0 : size >= 10 ? 1 : 2;
}

/** Thousands separated by a narrow space, which no language uses as a decimal point. */
function countText(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/gu, Number.isInteger(value) ? "\u202f" : "");
}

interface Fact {
  readonly name: string;
  readonly value: string;
}

/** "Policy · node-3 · 58.3 s · policy.nsys-rep", below the title; what is unknown or in the title is left out. */
export function recordingText(report: Report, title: string): string {
  const { class_name, host, duration_ns, name } = report;
  const parts = [class_name, host, duration_ns === 0 ? "" : nanosecondsText(duration_ns), name];
  return parts
    .filter((part) => part !== "" && !title.startsWith(part))
    .map(singleLine)
    .join(" · ");
}

/** Where, when, how long and with what it was recorded; unknown values are omitted. */
export function factsOf(report: Report): Fact[] {
  const facts = [
    { name: l10n.t("Host"), value: report.host },
    { name: l10n.t("Recorded"), value: started(report.started_utc) },
    {
      name: l10n.t("Duration"),
      value: report.duration_ns === 0 ? "" : nanosecondsText(report.duration_ns),
    },
    { name: l10n.t("Traced"), value: report.trace.split(",").join(", ") },
    { name: "nsys", value: report.nsys_version },
    { name: l10n.t("Schema"), value: report.schema_version },
    { name: l10n.t("Size"), value: cellText(report.size, "bytes") },
    { name: l10n.t("File"), value: report.path },
  ];
  return facts.filter(({ value }) => value !== "");
}

/** "GPU 0 (H100)". */
export function gpuName({ id, name }: GpuUsage): string {
  return name === "" ? l10n.t("GPU {0}", id) : l10n.t("GPU {0} ({1})", id, name);
}

/** The facts of a GPU, each as one text. */
export function gpuFacts(gpu: GpuUsage): string[] {
  if (gpu.kernels === 0) {
    return [l10n.t("no kernel ran")];
  }
  return [
    l10n.t("busy {0} ({1})", shareText(gpu.busy_share), nanosecondsText(gpu.busy_ns)),
    l10n.t("idle {0}", nanosecondsText(gpu.idle_ns)),
    gpu.kernels === 1 ? l10n.t("1 kernel") : l10n.t("{0} kernels", cellText(gpu.kernels, "count")),
    ...ncclFacts(gpu),
  ];
}

/** How much of the busy time goes into collectives, and how much of that no other kernel hides. */
function ncclFacts({ nccl_ns, nccl_alone_ns, busy_ns }: GpuUsage): string[] {
  if (nccl_ns === null || nccl_alone_ns === null) {
    return [l10n.t("NCCL unknown")];
  }
  return nccl_ns === 0 || busy_ns === 0
    ? []
    : [
        l10n.t(
          "NCCL {0} of the busy time ({1})",
          shareText(nccl_ns / busy_ns),
          nanosecondsText(nccl_ns),
        ),
        l10n.t("NCCL with nothing beside it {0}", nanosecondsText(nccl_alone_ns)),
      ];
}

/** "2026-11-21 20:15:03 UTC" from ISO 8601; other texts unchanged. */
function started(utc: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/u.exec(utc);
  return match === null ? utc : `${match[1] ?? ""} ${match[2] ?? ""} UTC`;
}
