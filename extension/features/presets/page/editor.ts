/** The page's messages to the editor, and its state, which outlives a reload of the window. */

import type { FromOptionsPage, OptionsSection, ToOptionsPage } from "../options_messages";
import type { OptionsForm } from "../options_model";

interface OptionsState {
  readonly form: OptionsForm;
  readonly open: readonly OptionsSection[];
  readonly scroll: number;
}

interface OptionsApi {
  postMessage(message: FromOptionsPage): void;
  getState(): OptionsState | undefined;
  setState(state: OptionsState): void;
}

// The editor puts this function into every page of an extension.
declare function acquireVsCodeApi(): OptionsApi;

const api = acquireVsCodeApi();

export function post(message: FromOptionsPage): void {
  api.postMessage(message);
}

export function onMessage(listener: (message: ToOptionsPage) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<ToOptionsPage>) => {
    listener(data);
  });
}

export function scrollOffset(): number {
  return api.getState()?.scroll ?? 0;
}

/** The sections that were open when the editor hid the page with this form. */
export function openSections(form: OptionsForm): readonly OptionsSection[] | undefined {
  const state = api.getState();
  return JSON.stringify(state?.form) === JSON.stringify(form) ? state?.open : undefined;
}

export function saveState(form: OptionsForm, open: readonly OptionsSection[]): void {
  api.setState({ form, open, scroll: window.scrollY });
}
