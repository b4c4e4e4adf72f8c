/** The messages between a page and the editor, and what the editor keeps of the page while it is hidden. */

import type { ExportRequest } from "../page_messages";
import { announce } from "./announcements";
import { button } from "./elements";
import { l10n } from "./l10n";

interface EditorApi<From, State> {
  postMessage(message: From): void;
  getState(): State | undefined;
  setState(state: State): void;
}

interface AnnouncementMessage {
  readonly kind: "announcement";
  readonly sentence: string;
}

interface PageEditor<From, To, State> {
  /** Lets `draw` take all messages but announcements, stores how far the user scrolls, and asks for the content. */
  readonly start: (draw: (message: Exclude<To, AnnouncementMessage>) => void) => void;
  readonly post: (message: From) => void;
  readonly exportButton: () => HTMLButtonElement;
  readonly onMessage: (listener: (message: To) => void) => void;
  readonly pageState: () => State;
  readonly savePageState: (changes: Partial<State>) => void;
}

// The editor puts this function into every page of an extension; a second call is an error.
declare function acquireVsCodeApi(): unknown;

/** Whether the page is a file of its own, without an editor. */
export const isExported = document.documentElement.classList.contains("exported");

/** The element in which a page draws its content. */
export const page = document.getElementById("page") ?? document.body;

/** `initial` is the state of a page that has stored none. */
export function pageEditor<From extends { kind: string }, To, State extends object>(
  initial: State,
): PageEditor<From, To, State> {
  const api = acquireVsCodeApi() as EditorApi<From | ExportRequest, State>;
  const pageState = (): State => api.getState() ?? initial;
  const onMessage = (listener: (message: To) => void): void => {
    window.addEventListener("message", ({ data }: MessageEvent<To>) => {
      listener(data);
    });
  };
  return {
    start: (draw) => {
      onMessage((message) => {
        if (isAnnouncement(message)) {
          announce(message.sentence);
        } else {
          draw(message as Exclude<To, AnnouncementMessage>);
        }
      });
      window.addEventListener("scrollend", () => {
        api.setState({ ...pageState(), scroll: window.scrollY });
      });
      api.postMessage({ kind: "ready" } as From);
    },
    post: (message) => {
      api.postMessage(message);
    },
    exportButton: () =>
      button(l10n.t("Export as HTML…"), () => {
        api.postMessage({ kind: "export" });
      }),
    onMessage,
    pageState,
    savePageState: (changes) => {
      api.setState({ ...pageState(), ...changes });
    },
  };
}

function isAnnouncement(message: unknown): message is AnnouncementMessage {
  return (message as { kind: string }).kind === "announcement";
}
