/** The page's messages to the editor, and its state while it is hidden. */

import type { FromPage, TableQuery, ToPage } from "../page_messages";

/** The user's position: the scroll offset, and the query of each table. */
interface PageState {
  readonly scroll: number;
  readonly queries: Readonly<Partial<Record<TableQuery["table"], TableQuery>>>;
}

interface Api {
  postMessage(message: FromPage): void;
  getState(): PageState | undefined;
  setState(state: PageState): void;
}

// The editor puts this function into every page of an extension.
declare function acquireVsCodeApi(): Api;

const api = acquireVsCodeApi();

export function post(message: FromPage): void {
  api.postMessage(message);
}

export function onMessage(listener: (message: ToPage) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
    listener(data);
  });
}

export function pageState(): PageState {
  return api.getState() ?? { scroll: 0, queries: {} };
}

export function savePageState(changes: Partial<PageState>): void {
  api.setState({ ...pageState(), ...changes });
}
