/** How the page of a comparison and the editor reach each other, and what survives when the tab is hidden. */

import type {
  FromComparisonPage,
  StoredComparison,
  ToComparisonPage,
} from "../../comparison_messages";

interface ComparisonPageState {
  readonly stored: StoredComparison | undefined;
  readonly scroll: number;
}

interface ComparisonApi {
  postMessage(message: FromComparisonPage): void;
  getState(): ComparisonPageState | undefined;
  setState(state: ComparisonPageState): void;
}

// The editor puts this function into every page of an extension.
declare function acquireVsCodeApi(): ComparisonApi;

const api = acquireVsCodeApi();

export function post(message: FromComparisonPage): void {
  api.postMessage(message);
}

export function onMessage(listener: (message: ToComparisonPage) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<ToComparisonPage>) => {
    listener(data);
  });
}

export function pageState(): ComparisonPageState {
  return api.getState() ?? { stored: undefined, scroll: 0 };
}

export function savePageState(changes: Partial<ComparisonPageState>): void {
  api.setState({ ...pageState(), ...changes });
}
