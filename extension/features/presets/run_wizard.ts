/** The wizard of a run: the form, then the review of what a preset changes, then the start. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import { NO_PRESET, type Draft } from "../runs/draft";
import type { RunStarter } from "../runs/run_starter";
import { RunForm } from "./form/form";
import type { Proposal } from "./messages";
import type { ReviewDocuments } from "./review_documents";
import {
  agreementOf,
  checkConfiguration,
  reviewLines,
  reviewTexts,
  type ConfigurationCheck,
  type ReviewAnswer,
  type ReviewLine,
} from "./review_model";
import { saveAnswers } from "./user_presets";

export class RunWizard {
  constructor(
    private readonly app: App,
    private readonly starting: RunStarter,
    private readonly texts: ReviewDocuments,
  ) {}

  /** From the form to the review and back, until the user starts the run or cancels; returns the id of the run. */
  async run(title: string, given: Draft): Promise<string | undefined> {
    const draft = await this.filled(title, given);
    const started = draft && (await this.runReviewed(title, draft));
    return started?.id;
  }

  /** The same, beginning with the review; the run, and what was agreed to. */
  async runReviewed(
    title: string,
    given: Draft,
  ): Promise<{ readonly id: string; readonly agreed: string } | undefined> {
    let draft: Draft | undefined = given;
    while (draft !== undefined) {
      const proposal = await this.starting.prepare(draft);
      const answer = await this.reviewAnswer(proposal, draft);
      if (answer !== "back") {
        const id = answer === "start" ? await this.starting.start(proposal) : undefined;
        return id === undefined ? undefined : { id, agreed: agreementOf(draft, proposal) };
      }
      draft = await this.filled(title, draft);
    }
    return undefined;
  }

  private filled(title: string, given: Draft): Promise<Draft | undefined> {
    const form = new RunForm(this.app, title, (draft) => this.starting.prepare(draft));
    return form.fill(given);
  }

  /** The user's answer to the proposal; without a preset the run starts without a review. */
  private async reviewAnswer(proposal: Proposal, draft: Draft): Promise<ReviewAnswer> {
    let check: ConfigurationCheck | undefined;
    for (;;) {
      const answer =
        draft.preset === NO_PRESET ? "start" : await review(this.texts, proposal, check);
      if (answer === "check") {
        check = await checkConfiguration(() => this.starting.compose(draft), check);
      } else if (answer === "save") {
        await saveAnswers(this.app, draft, proposal);
      } else {
        return answer;
      }
    }
  }
}

/** The user's answer to a proposal; closing the list cancels.  `check` is the result of a check of its configuration. */
async function review(
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
