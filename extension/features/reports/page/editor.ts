/** The page's side of the talk with the editor, and what is kept while the page is hidden. */

import type { FromPage, Look, ToPage } from "../page_messages";

/** Where the person was: how far down, and how they look at each table. */
export interface Kept {
  readonly scroll: number;
  readonly looks: Readonly<Partial<Record<Look["table"], Look>>>;
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
