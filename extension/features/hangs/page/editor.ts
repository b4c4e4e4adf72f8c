/** The page's messages to the editor, and its state while it is hidden. */

import type { FromPicturePage, StoredPicture, ToPicturePage } from "../page_messages";
import { NO_FILTER, type Filter } from "./filters";
import type { RankOrder } from "./rank_table";

/** The user's position, filters, and order of the table. */
interface PicturePageState {
  readonly scroll: number;
  readonly filter: Filter;
  readonly showsAll: boolean;
  readonly closed: readonly string[];
  readonly order: RankOrder;
  readonly stored: StoredPicture | undefined;
}

interface PictureApi {
  postMessage(message: FromPicturePage): void;
  getState(): PicturePageState | undefined;
  setState(state: PicturePageState): void;
}

// The editor puts this function into every page of an extension.
declare function acquireVsCodeApi(): PictureApi;

const api = acquireVsCodeApi();

export function post(message: FromPicturePage): void {
  api.postMessage(message);
}

export function onMessage(listener: (message: ToPicturePage) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<ToPicturePage>) => {
    listener(data);
  });
}

export function pageState(): PicturePageState {
  return (
    api.getState() ?? {
      scroll: 0,
      filter: NO_FILTER,
      showsAll: false,
      closed: [],
      order: { sort: "", descending: false },
      stored: undefined,
    }
  );
}

export function savePageState(changes: Partial<PicturePageState>): void {
  api.setState({ ...pageState(), ...changes });
}
