/** The page's messages to the editor, and its state while it is hidden. */

import type { FromPage, TableQuery, ToPage } from "../page_messages";

/** The user's position: the scroll offset, and the query of each table. */
interface Kept {
  readonly scroll: number;
  readonly looks: Readonly<Partial<Record<TableQuery["table"], TableQuery>>>;
}

interface Api {
  postMessage(message: FromPage): void;
  getState(): Kept | undefined;
  setState(kept: Kept): void;
}

// The editor puts this function into every page of an extension.
declare function acquireVsCodeApi(): Api;

const api = acquireVsCodeApi();

export function tell(message: FromPage): void {
  api.postMessage(message);
}

export function onTold(listener: (message: ToPage) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
    listener(data);
  });
}

export function kept(): Kept {
  return api.getState() ?? { scroll: 0, looks: {} };
}

export function keep(changes: Partial<Kept>): void {
  api.setState({ ...kept(), ...changes });
}
