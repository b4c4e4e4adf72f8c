/** The page's messages to the editor, and its state while it is hidden. */

import type { FromDiagnosisPage, StoredDiagnosis, ToDiagnosisPage } from "../page_messages";

/** The user's position, and which folded parts are open. */
interface DiagnosisPageState {
  readonly scroll: number;
  readonly open: readonly string[];
  readonly stored: StoredDiagnosis | undefined;
}

interface DiagnosisApi {
  postMessage(message: FromDiagnosisPage): void;
  getState(): DiagnosisPageState | undefined;
  setState(state: DiagnosisPageState): void;
}

// The editor puts this function into every page of an extension.
declare function acquireVsCodeApi(): DiagnosisApi;

const api = acquireVsCodeApi();

export function post(message: FromDiagnosisPage): void {
  api.postMessage(message);
}

export function onMessage(listener: (message: ToDiagnosisPage) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<ToDiagnosisPage>) => {
    listener(data);
  });
}

export function pageState(): DiagnosisPageState {
  return api.getState() ?? { scroll: 0, open: [], stored: undefined };
}

export function savePageState(changes: Partial<DiagnosisPageState>): void {
  api.setState({ ...pageState(), ...changes });
}
