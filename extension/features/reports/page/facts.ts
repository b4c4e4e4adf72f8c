/** The facts of a recording and of each GPU, as text. */

import type { Gpu, Report } from "../messages";
import { cellText, nanosecondsText, shareText } from "./quantities";

interface Fact {
  readonly name: string;
  readonly value: string;
}

/** Where, when, how long and with what it was recorded; unknown values are omitted. */
export function factsOf(report: Report): Fact[] {
  const facts = [
    { name: "Host", value: report.host },
    { name: "Recorded", value: started(report.started_utc) },
    {
      name: "Duration",
      value: report.duration_ns === 0 ? "" : nanosecondsText(report.duration_ns),
    },
    { name: "Traced", value: report.trace.split(",").join(", ") },
    { name: "nsys", value: report.nsys_version },
    { name: "Schema", value: report.schema_version },
    { name: "Size", value: cellText(report.size, "bytes") },
    { name: "File", value: report.path },
  ];
  return facts.filter(({ value }) => value !== "");
}

/** "GPU 0 (H100)". */
export function gpuName({ id, name }: Gpu): string {
  return name === "" ? `GPU ${id}` : `GPU ${id} (${name})`;
}

/** What is to be known of a GPU, one thing after another. */
export function gpuFacts(gpu: Gpu): string[] {
  if (gpu.kernels === 0) {
    return ["no kernel ran"];
  }
  return [
    `busy ${shareText(gpu.busy_share)} (${nanosecondsText(gpu.busy_ns)})`,
    `idle ${nanosecondsText(gpu.idle_ns)}`,
    `${cellText(gpu.kernels, "count")} kernels`,
    ...ncclFacts(gpu),
  ];
}

/** How much of the busy time goes into collectives, and how much of that no other kernel hides. */
function ncclFacts({ nccl_ns, nccl_alone_ns, busy_ns }: Gpu): string[] {
  return nccl_ns === 0 || busy_ns === 0
    ? []
    : [
        `NCCL ${shareText(nccl_ns / busy_ns)} of the busy time (${nanosecondsText(nccl_ns)})`,
        `NCCL with nothing beside it ${nanosecondsText(nccl_alone_ns)}`,
      ];
}

/** "2026-11-21 20:15:03 UTC" from ISO 8601; other texts unchanged. */
function started(utc: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/u.exec(utc);
  return match === null ? utc : `${match[1] ?? ""} ${match[2] ?? ""} UTC`;
}
