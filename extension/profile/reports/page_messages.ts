/** The messages between the editor and the page of a report. */

import type { ToPage } from "../../page/page_messages";
import type { Report, Table, TableRequest, TableTextRequest } from "./messages";

/** The selected rows of a table and their order. */
export type TableQuery = Required<Omit<TableRequest, "path">>;

export type ToReportPage =
  | ToPage
  | { readonly kind: "loading"; readonly message: string; readonly percentage: number | null }
  /** `title` names the worker of the report, or its file. */
  | { readonly kind: "report"; readonly report: Report; readonly title: string }
  | { readonly kind: "table"; readonly query: TableQuery; readonly table: Table }
  /** Why the requested rows are not available. */
  | { readonly kind: "noTable"; readonly query: TableQuery; readonly reason: string }
  | { readonly kind: "failed"; readonly message: string; readonly nextStep: string };

export type FromPage =
  | { readonly kind: "ready" | "again" | "cancel" | "openInNsight" | "copyPath" | "reveal" }
  | { readonly kind: "copyReport" | "showLogs" }
  | { readonly kind: "query"; readonly query: TableQuery }
  | {
      readonly kind: "copy";
      readonly query: TableQuery;
      readonly format: TableTextRequest["format"];
    };
