/** The question how to start a run that records on a machine without nsys. */

import * as vscode from "vscode";

import { plain, type Verbatim } from "../../common/texts";
import type { Proposal } from "../presets/messages";
import type { Draft } from "./draft";
import { isNsysPath } from "./profile_options";

/** The problem that this question is about; the proposal reports it. */
export const NO_NSYS = "no-nsys";
const ENTER_PATH = vscode.l10n.t("Enter Path…");
const WITHOUT = vscode.l10n.t("Run Without Recording");
const ANYWAY = vscode.l10n.t("Run Anyway");

/**
 * The draft to start: the same one where its proposal has nsys or the user wants it all the same, else a changed one,
 * which needs a new proposal.  Undefined when the user closes the message.
 */
export async function withNsys({ problems }: Proposal, draft: Draft): Promise<Draft | undefined> {
  const problem = problems.find(({ code }) => code === NO_NSYS);
  if (problem === undefined || draft.profile === null) {
    return draft;
  }
  const buttons = [ENTER_PATH, WITHOUT, ANYWAY];
  const answer = await vscode.window.showErrorMessage(plain(problem.message, 600), ...buttons);
  switch (answer) {
    case ENTER_PATH: {
      const nsys = await askForPath(draft.profile.nsys);
      return nsys === undefined ? undefined : { ...draft, profile: { ...draft.profile, nsys } };
    }
    case WITHOUT:
      return { ...draft, profile: null };
    case ANYWAY:
      return draft;
    default:
      return undefined;
  }
}

const EXAMPLE: Verbatim = "/opt/nvidia/nsight-systems/2025.1.1/bin/nsys";

async function askForPath(before: string): Promise<string | undefined> {
  const path = await vscode.window.showInputBox({
    title: vscode.l10n.t("Path of nsys"),
    placeHolder: EXAMPLE,
    value: before,
    ignoreFocusOut: true,
    validateInput: (text) =>
      text.trim() !== "" && isNsysPath(text)
        ? undefined
        : vscode.l10n.t("Enter a full path or a name."),
  });
  return path?.trim();
}
