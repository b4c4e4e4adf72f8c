/** The messages between a page and the editor, and what the editor keeps of the page while it is hidden. */

interface EditorApi<From, State> {
  postMessage(message: From): void;
  getState(): State | undefined;
  setState(state: State): void;
}

interface PageEditor<From, To, State> {
  readonly post: (message: From) => void;
  readonly onMessage: (listener: (message: To) => void) => void;
  readonly pageState: () => State;
  readonly savePageState: (changes: Partial<State>) => void;
}

// The editor puts this function into every page of an extension; a second call is an error.
declare function acquireVsCodeApi(): unknown;

/** `initial` is the state of a page that has stored none. */
export function pageEditor<From, To, State extends object>(
  initial: State,
): PageEditor<From, To, State> {
  const api = acquireVsCodeApi() as EditorApi<From, State>;
  const pageState = (): State => api.getState() ?? initial;
  return {
    post: (message) => {
      api.postMessage(message);
    },
    onMessage: (listener) => {
      window.addEventListener("message", ({ data }: MessageEvent<To>) => {
        listener(data);
      });
    },
    pageState,
    savePageState: (changes) => {
      api.setState({ ...pageState(), ...changes });
    },
  };
}
