/** The messages between the editor and the page of trajectories. */

import type {
  DumpStatistics,
  TrajectoryGroup,
  TrajectoryItem,
  TrajectoryPage,
  TrajectoryQuery,
} from "./messages";

/** The selected rows and their order. */
export type ListQuery = Required<Omit<TrajectoryQuery, "path">>;

export const FIRST_ROWS = 100;
/** For a list without a filter. */
export const NO_QUERY: ListQuery = {
  search: "",
  filter: "",
  least_reward: null,
  most_reward: null,
  sort: "",
  descending: false,
  start: 0,
  limit: FIRST_ROWS,
};

export type ListFilter = ListQuery["filter"];

/** The parts of the page, each of which is requested, cancelled and may fail alone. */
export type PagePart = "list" | "item" | "group" | "statistics";

export type ToTrajectoryPage =
  /** The first message; `path` and `name` are what the page stores to be restored, `item` is opened, 0 for the last one. */
  | {
      readonly kind: "dump";
      readonly path: string;
      readonly item: number;
      readonly name: string;
    }
  | { readonly kind: "rows"; readonly query: ListQuery; readonly page: TrajectoryPage }
  /** How many lines there are, once all were read. */
  | { readonly kind: "counted"; readonly page: TrajectoryPage }
  | { readonly kind: "item"; readonly item: TrajectoryItem }
  | { readonly kind: "group"; readonly group: TrajectoryGroup }
  | { readonly kind: "statistics"; readonly statistics: DumpStatistics }
  /** `percentage` is null where it isn't known. */
  | {
      readonly kind: "loading";
      readonly part: PagePart;
      readonly message: string;
      readonly percentage: number | null;
    }
  | { readonly kind: "loaded"; readonly part: PagePart }
  | {
      readonly kind: "failed";
      readonly part: PagePart;
      readonly message: string;
      readonly nextStep: string;
    };

export type FromTrajectoryPage =
  | { readonly kind: "ready" | "sumUp" | "saveBatch" }
  | { readonly kind: "query"; readonly query: ListQuery }
  | { readonly kind: "item" | "group"; readonly item: number }
  | { readonly kind: "cancel"; readonly part: PagePart };
