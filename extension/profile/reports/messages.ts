// Printed from pybackend/eagleray/profile/reports/messages.py by `npm run messages`; do not edit.
import { request } from "../../common/wire";

export const REPORT = request<ReportRequest, Report>("eagleray/reports/report");
export const TABLE = request<TableRequest, Table>("eagleray/reports/table");
export const REPORT_TEXT = request<ReportRequest, ReportText>("eagleray/reports/reportText");
export const TABLE_TEXT = request<TableTextRequest, TableText>("eagleray/reports/tableText");

/** Requests the summary of a `.nsys-rep`, or of the `.sqlite` that nsys made of one. */
export interface ReportRequest {
  readonly path: string;
}

/**
 * The first rows of a table, in the requested order; a cell is None where the value is unknown.
 *
 * `total` counts all rows that match the search; `note` is shown beside the title.
 */
export interface Table {
  readonly id: "kernels" | "nvtx" | "gaps" | "memcpy" | "cuda_api" | "osrt" | "threads" | "nvtx_names";
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | number | null)[])[];
  readonly total: number;
  readonly sorted_by: string;
  readonly descending: boolean;
  readonly note: string;
}

/**
 * Requests a table in another order, or the rows that contain `search` (ignoring case).
 *
 * `sort` is the id of a column, "" for the usual one.
 */
export interface TableRequest {
  readonly path: string;
  readonly table: "kernels" | "nvtx" | "gaps" | "memcpy" | "cuda_api" | "osrt" | "threads" | "nvtx_names";
  readonly sort?: string;
  readonly descending?: boolean;
  readonly search?: string;
  readonly limit?: number;
}

/** Requests a table as text for other programs, sorted and searched. */
export interface TableTextRequest {
  readonly path: string;
  readonly table: "kernels" | "nvtx" | "gaps" | "memcpy" | "cuda_api" | "osrt" | "threads" | "nvtx_names";
  readonly format: "markdown" | "csv";
  readonly sort?: string;
  readonly descending?: boolean;
  readonly search?: string;
}

/** All `rows` of a table that were kept; `total` counts all that match the search. */
export interface TableText {
  readonly title: string;
  readonly text: string;
  readonly rows: number;
  readonly total: number;
}

/**
 * The summary of a report.  `database` is the file that was read.
 *
 * `worker` is the name of the recorded actor, `class_name` its class, `rank` None if unknown.
 */
export interface Report {
  readonly host: string;
  readonly started_utc: string;
  readonly nsys_version: string;
  readonly schema_version: string;
  readonly trace: string;
  readonly path: string;
  readonly name: string;
  readonly database: string;
  readonly size: number;
  readonly worker: string;
  readonly class_name: string;
  readonly rank: number | null;
  readonly duration_ns: number;
  readonly gpus: readonly GpuUsage[];
  readonly tables: readonly Table[];
  readonly warnings: readonly ReportWarning[];
}

/** The summary and the first rows of its tables, in Markdown. */
export interface ReportText {
  readonly text: string;
}

/**
 * A column; `kind` decides how its cells are shown: names, counts, nanoseconds, bytes, bytes/s, shares.
 *
 * Users sort by its `id`, on the page and on the command line.  `title` is translated where it is shown.
 */
export interface Column {
  readonly id: string;
  readonly title: string;
  readonly kind: "text" | "count" | "ns" | "bytes" | "rate" | "share";
}

/**
 * A GPU, and how much of the recording at least one kernel ran on it (`busy_ns`).
 *
 * Counts from `begin_ns`, where the first kernel of any GPU begins, to `end_ns`, where the last one ends; `curve` is
 * the busy share in equal steps between them.  `nccl_ns` is how long a kernel of NCCL ran, `nccl_alone_ns` how long
 * nothing else ran beside it; both are None if a kernel has no name, as in a graph that is recorded as one.
 */
export interface GpuUsage {
  readonly id: number;
  readonly name: string;
  readonly kernels: number;
  readonly begin_ns: number;
  readonly end_ns: number;
  readonly busy_ns: number;
  readonly idle_ns: number;
  readonly busy_share: number;
  readonly nccl_ns: number | null;
  readonly nccl_alone_ns: number | null;
  readonly curve: readonly number[];
}

/** Why a report may lack what the user expects: a code for programs, one sentence, and what to do. */
export interface ReportWarning {
  readonly code: string;
  readonly message: string;
  readonly next_step: string;
}
