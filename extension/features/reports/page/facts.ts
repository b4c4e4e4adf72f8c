/** What a report says of its recording and of each GPU, in words. */

import type { Report } from "../messages";
import { share, shown, spent } from "./quantities";

type Gpu = Report["gpus"][number];

export interface Fact {
  readonly name: string;
  readonly value: string;
}

/** Where, when, how long and with what it was recorded; what is not known is left out. */
export function factsOf(report: Report): Fact[] {
  const facts = [
    { name: "Host", value: report.host },
    { name: "Recorded", value: started(report.started_utc) },
    { name: "Duration", value: report.duration_ns === 0 ? "" : spent(report.duration_ns) },
    { name: "Traced", value: report.trace.split(",").join(", ") },
    { name: "nsys", value: report.nsys_version },
    { name: "Schema", value: report.schema_version },
    { name: "Size", value: shown(report.size, "bytes") },
    { name: "File", value: report.path },
  ];
  return facts.filter(({ value }) => value !== "");
}

/** "GPU 0 (H100)". */
export function gpuName({ id, name }: Gpu): string {
  return name === "" ? `GPU ${id}` : `GPU ${id} (${name})`;
}

/** What is to be known of a GPU, one thing after another. */
export function gpuWords(gpu: Gpu): string[] {
  if (gpu.kernels === 0) {
    return ["no kernel ran"];
  }
  return [
    `busy ${share(gpu.busy_share)} (${spent(gpu.busy_ns)})`,
    `idle ${spent(gpu.idle_ns)}`,
    `${shown(gpu.kernels, "count")} kernels`,
    ...ncclWords(gpu),
  ];
}

/** How much of the busy time goes into collectives, and how much of that no other kernel hides. */
function ncclWords({ nccl_ns, nccl_alone_ns, busy_ns }: Gpu): string[] {
  return nccl_ns === 0 || busy_ns === 0
    ? []
    : [
        `NCCL ${share(nccl_ns / busy_ns)} of the busy time (${spent(nccl_ns)})`,
        `NCCL with nothing beside it ${spent(nccl_alone_ns)}`,
      ];
}

/** "2026-11-21 20:15:03 UTC" of what stands in ISO 8601; as it is where it does not. */
function started(utc: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/u.exec(utc);
  return match === null ? utc : `${match[1] ?? ""} ${match[2] ?? ""} UTC`;
}
