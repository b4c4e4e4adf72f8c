/** The question how to start a run that records on a machine without nsys. */

import { stat, access, constants } from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import * as vscode from "vscode";

import { lines, plain, type Verbatim } from "../common/texts";
import type { Proposal } from "./presets/messages";
import type { Draft } from "./draft";
import { isNsysPath } from "./profile_options";

/** The problem that this question is about; the proposal reports it. */
export const NO_NSYS = "no-nsys";
const ENTER_PATH = vscode.l10n.t("Enter Path…");
const WITHOUT = vscode.l10n.t("Run Without Recording");
const ELSEWHERE = vscode.l10n.t("Record on Other Nodes Only");

/** The events of the questions, for the caller that starts a run. */
export interface StartEvents {
  /** A question is open; "" once it is answered. */
  readonly asking: (question: string) => void;
  /** The user has entered the path of nsys, with which the run is prepared again. */
  readonly nsysEntered: (path: string) => void;
}

/**
 * The draft to start: the same one where its proposal has nsys or the user wants it all the same, else a changed one,
 * which needs a new proposal.  Undefined when the user closes the dialog.
 */
export async function withNsys(
  { problems }: Proposal,
  draft: Draft,
  events?: StartEvents,
): Promise<Draft | undefined> {
  const problem = problems.find(({ code }) => code === NO_NSYS);
  if (problem === undefined || draft.profile === null) {
    return draft;
  }
  const question = plain(problem.message, 600);
  events?.asking(question);
  try {
    const detail = `${plain(problem.next_step, 600)}\n\n${whatButtonsDo(draft)}`;
    const buttons = [ENTER_PATH, WITHOUT, ELSEWHERE];
    const options = { modal: true, detail };
    switch (await vscode.window.showWarningMessage(question, options, ...buttons)) {
      case ENTER_PATH: {
        const nsys = await askForPath(draft.profile.nsys);
        if (nsys === undefined) {
          return undefined;
        }
        events?.nsysEntered(nsys);
        return { ...draft, profile: { ...draft.profile, nsys } };
      }
      case WITHOUT:
        return { ...draft, profile: null };
      case ELSEWHERE:
        return draft;
      default:
        return undefined;
    }
  } finally {
    events?.asking("");
  }
}

function whatButtonsDo({ stops }: Draft): string {
  return lines(
    vscode.l10n.t("“{0}” records with the program that you enter.", ENTER_PATH),
    stops
      ? vscode.l10n.t("“{0}” records nothing and stops at breakpoints.", WITHOUT)
      : vscode.l10n.t("“{0}” records nothing.", WITHOUT),
    vscode.l10n.t("“{0}” records only workers of nodes with nsys.", ELSEWHERE),
  );
}

const EXAMPLE: Verbatim = "/opt/nvidia/nsight-systems/2025.1.1/bin/nsys";
const SETTING: Verbatim = "eagleray.profiling.nsys";

async function askForPath(before: string): Promise<string | undefined> {
  const entered = await vscode.window.showInputBox({
    title: vscode.l10n.t("Path of nsys"),
    prompt: vscode.l10n.t("To use it for every run, set {0}.", SETTING),
    placeHolder: EXAMPLE,
    value: before,
    ignoreFocusOut: true,
    validateInput: mistakeIn,
  });
  return entered?.trim();
}

/** This machine can't tell whether a name on the PATH exists. */
async function mistakeIn(text: string): Promise<string | undefined> {
  const named = text.trim();
  if (named === "" || !isNsysPath(named)) {
    return vscode.l10n.t("Enter a full path or a name.");
  }
  const file = named.startsWith("~/") ? path.join(os.homedir(), named.slice(2)) : named;
  return !path.isAbsolute(file) || (await isProgram(file))
    ? undefined
    : vscode.l10n.t("No program was found at this path.");
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
