/** The page's messages to the editor, and its state, which outlives a reload of the window. */

import { pageEditor } from "../../../page/frame/editor";
import type { FromOptionsPage, OptionsSection, ToOptionsPage } from "../options_messages";
import type { OptionsForm } from "../options_model";

interface OptionsState {
  readonly form: OptionsForm | undefined;
  readonly open: readonly OptionsSection[];
  readonly scroll: number;
}

const { post, onMessage, pageState, savePageState } = pageEditor<
  FromOptionsPage,
  ToOptionsPage,
  OptionsState
>({ form: undefined, open: [], scroll: 0 });

export { onMessage, post };

export function scrollOffset(): number {
  return pageState().scroll;
}

/** The sections that were open when the editor hid the page with this form. */
export function openSections(form: OptionsForm): readonly OptionsSection[] | undefined {
  const state = pageState();
  return JSON.stringify(state.form) === JSON.stringify(form) ? state.open : undefined;
}

export function saveState(form: OptionsForm, open: readonly OptionsSection[]): void {
  savePageState({ form, open, scroll: window.scrollY });
}
