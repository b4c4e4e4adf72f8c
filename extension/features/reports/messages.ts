// Printed from pybackend/eagleray/features/reports/messages.py by `npm run messages`; do not edit.
import { request } from "../../common/wire";

export const REPORT = request<ReportOf, Report>("eagleray/reports/report");
export const TABLE = request<TableOf, Table>("eagleray/reports/table");
export const REPORT_TEXT = request<ReportOf, ReportText>("eagleray/reports/reportText");
export const TABLE_TEXT = request<TableTextOf, TableText>("eagleray/reports/tableText");

/** Asks for the summary of a `.nsys-rep`, or of the `.sqlite` that nsys made of one. */
export interface ReportOf {
  readonly path: string;
}

/**
 * A column; `kind` says how its cells are shown: names, counts, nanoseconds, bytes, bytes/s,
 * shares.
 */
export interface Column {
  readonly id: string;
  readonly title: string;
  readonly kind: "text" | "count" | "ns" | "bytes" | "rate" | "share";
}

/**
 * The first rows of a table, in the order that was asked for; a cell is None where nothing is
 * known.
 *
 * `total` counts all rows that fit the search, shown or not; `note` says what is to be known of
 * the table.
 */
export interface Table {
  readonly id: "kernels" | "nvtx" | "gaps" | "memcpy" | "cuda_api" | "osrt" | "threads";
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | number | null)[])[];
  readonly total: number;
  readonly sorted_by: string;
  readonly descending: boolean;
  readonly note: string;
}

/**
 * Asks for a table in another order, or for the rows in which `search` occurs (in any case of
 * letters).
 *
 * `sort` is the id of a column, "" for the usual one.
 */
export interface TableOf {
  readonly path: string;
  readonly table: "kernels" | "nvtx" | "gaps" | "memcpy" | "cuda_api" | "osrt" | "threads";
  readonly sort?: string;
  readonly descending?: boolean;
  readonly search?: string;
  readonly limit?: number;
}

/** Asks for a table as text for other programs, in that order and searched so. */
export interface TableTextOf {
  readonly path: string;
  readonly table: "kernels" | "nvtx" | "gaps" | "memcpy" | "cuda_api" | "osrt" | "threads";
  readonly format: "markdown" | "csv";
  readonly sort?: string;
  readonly descending?: boolean;
  readonly search?: string;
}

/** All `rows` that are known of a table; `total` counts those that fit, known or not. */
export interface TableText {
  readonly title: string;
  readonly text: string;
  readonly rows: number;
  readonly total: number;
}

/**
 * A GPU, and how much of the recording at least one kernel ran on it (`busy_ns`).
 *
 * It is looked at from `begin_ns`, where the first kernel of any GPU begins, to `end_ns`, where
 * the last one
 * ends; `curve` is the busy share in equal steps between them.  `nccl_ns` is how long a kernel of
 * NCCL ran,
 * `nccl_alone_ns` how long nothing else ran beside it.
 */
export interface Gpu {
  readonly id: number;
  readonly name: string;
  readonly kernels: number;
  readonly begin_ns: number;
  readonly end_ns: number;
  readonly busy_ns: number;
  readonly idle_ns: number;
  readonly busy_share: number;
  readonly nccl_ns: number;
  readonly nccl_alone_ns: number;
  readonly curve: readonly number[];
}

/** Why a report may not say what one expects, and what to do about it. */
export interface ReportWarning {
  readonly code: string;
  readonly message: string;
  readonly next_step: string;
}

/**
 * The summary of a report.  `database` is the file that was read; texts are "" where nothing is
 * known.
 *
 * `started_utc` is in ISO 8601; `trace` is what nsys was asked to record, e.g. "cuda,nvtx".
 */
export interface Report {
  readonly path: string;
  readonly name: string;
  readonly database: string;
  readonly size: number;
  readonly host: string;
  readonly started_utc: string;
  readonly duration_ns: number;
  readonly nsys_version: string;
  readonly schema_version: string;
  readonly trace: string;
  readonly gpus: readonly Gpu[];
  readonly tables: readonly Table[];
  readonly warnings: readonly ReportWarning[];
}

/** The summary and the first rows of its tables, in Markdown. */
export interface ReportText {
  readonly text: string;
}
