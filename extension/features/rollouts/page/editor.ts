/** The page's messages to the editor, and its state while it is hidden. */

import {
  NO_QUERY,
  type FromTrajectoryPage,
  type ListQuery,
  type ToTrajectoryPage,
} from "../page_messages";
import type { ColourMode } from "./token_colours";

/** What the user was at; the editor restores the tab by `path` and `name`. */
interface TrajectoryPageState {
  readonly path: string;
  readonly name: string;
  readonly scroll: number;
  readonly query: ListQuery;
  /** 0: none is open. */
  readonly item: number;
  readonly colour: ColourMode | "";
}

interface TrajectoryApi {
  postMessage(message: FromTrajectoryPage): void;
  getState(): TrajectoryPageState | undefined;
  setState(state: TrajectoryPageState): void;
}

// The editor puts this function into every page of an extension.
declare function acquireVsCodeApi(): TrajectoryApi;

const api = acquireVsCodeApi();

export function post(message: FromTrajectoryPage): void {
  api.postMessage(message);
}

export function onMessage(listener: (message: ToTrajectoryPage) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<ToTrajectoryPage>) => {
    listener(data);
  });
}

export function pageState(): TrajectoryPageState {
  return api.getState() ?? { path: "", name: "", scroll: 0, query: NO_QUERY, item: 0, colour: "" };
}

export function savePageState(changes: Partial<TrajectoryPageState>): void {
  api.setState({ ...pageState(), ...changes });
}
