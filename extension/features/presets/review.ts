/** Shows what a preset changes before a run starts: both texts side by side, and a list of the changes. */

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { Proposal } from "./messages";
import type { ReviewDocuments } from "./review_documents";
import {
  reviewLines,
  reviewTexts,
  type ConfigurationCheck,
  type ReviewAnswer,
  type ReviewLine,
} from "./review_model";

/** The user's answer to a proposal; closing the list cancels.  `check` is the result of a check of its configuration. */
export async function review(
  texts: ReviewDocuments,
  proposal: Proposal,
  check: ConfigurationCheck | undefined,
): Promise<ReviewAnswer> {
  const { before, after } = reviewTexts(proposal);
  const name = plain(proposal.title).replaceAll("/", "∕");
  await vscode.commands.executeCommand(
    "vscode.diff",
    texts.put(`/as it is/${name}`, before),
    texts.put(`/with/${name}`, after),
    plain(`${name} (as it is ↔ ${proposal.preset})`),
    { preview: true, preserveFocus: true },
  );
  return await pickAnswer(reviewLines(proposal, vscode.workspace.isTrusted, check));
}

/** Lines that only explain give no answer, and the list stays. */
function pickAnswer(lines: readonly ReviewLine[]): Promise<ReviewAnswer> {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { line: ReviewLine }>();
  pick.title = "Start it like this?";
  pick.placeholder = "What changes stands below";
  pick.ignoreFocusOut = true;
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.items = lines.map((line) => ({
    label: line.label,
    description: line.description,
    detail: line.detail,
    ...(line.icon === "" ? {} : { iconPath: new vscode.ThemeIcon(line.icon) }),
    ...(line.isTitle ? { kind: vscode.QuickPickItemKind.Separator } : {}),
    line,
  }));
  return new Promise((resolve) => {
    const done = (answer: ReviewAnswer): void => {
      resolve(answer);
      pick.dispose();
    };
    pick.onDidAccept(() => {
      const answer = pick.activeItems[0]?.line.answer;
      if (answer !== undefined) {
        done(answer);
      }
    });
    pick.onDidHide(() => {
      done("cancel");
    });
    pick.show();
  });
}
