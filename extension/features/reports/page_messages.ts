/** The messages between the editor and the page of a report. */

import type { Report, Table, TableRequest, TableTextRequest } from "./messages";
import type { ReportTexts } from "./report_texts";

/** The selected rows of a table and their order. */
export type TableQuery = Required<Omit<TableRequest, "path">>;

export type ToPage =
  /** The first message. */
  | { readonly kind: "texts"; readonly texts: ReportTexts }
  | { readonly kind: "loading"; readonly message: string; readonly percentage: number | null }
  /** `title` names the worker of the report, or its file. */
  | { readonly kind: "report"; readonly report: Report; readonly title: string }
  | { readonly kind: "table"; readonly query: TableQuery; readonly table: Table }
  /** Why the requested rows are not available. */
  | { readonly kind: "noTable"; readonly query: TableQuery; readonly reason: string }
  | { readonly kind: "failed"; readonly message: string; readonly nextStep: string }
  /** Something that a screen reader should say, such as that a table was copied. */
  | { readonly kind: "announcement"; readonly sentence: string };

export type FromPage =
  | { readonly kind: "ready" | "again" | "cancel" | "openInNsight" | "copyPath" | "reveal" }
  | { readonly kind: "copyReport" | "showLogs" }
  | { readonly kind: "query"; readonly query: TableQuery }
  | {
      readonly kind: "copy";
      readonly query: TableQuery;
      readonly format: TableTextRequest["format"];
    };
