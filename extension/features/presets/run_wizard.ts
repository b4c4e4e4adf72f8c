/** A run by a form; with a preset, what that changes is shown before anything starts. */

import type { Parts } from "../../parts";
import { NO_PRESET, type Draft } from "../runs/draft";
import type { Proposal } from "./messages";
import type { Starting } from "../runs/starting";
import { checkConfiguration } from "./checking";
import { Form } from "./form/form";
import { review } from "./review";
import { agreementOf, type ConfigurationCheck, type ReviewAnswer } from "./review_model";
import type { ReviewTexts } from "./review_texts";
import { saveAnswers } from "./user_presets";

export class Guided {
  constructor(
    private readonly parts: Parts,
    private readonly starting: Starting,
    private readonly texts: ReviewTexts,
  ) {}

  /** From the form to the review and back, until the person starts it or leaves; the id of the run. */
  async run(title: string, given: Draft): Promise<string | undefined> {
    const draft = await this.filled(title, given);
    const started = draft && (await this.reviewed(title, draft));
    return started?.id;
  }

  /** The same, beginning with the review; the run, and what was agreed to. */
  async reviewed(
    title: string,
    given: Draft,
  ): Promise<{ readonly id: string; readonly agreed: string } | undefined> {
    let draft: Draft | undefined = given;
    while (draft !== undefined) {
      const proposal = await this.starting.prepare(draft);
      const answer = await this.answerTo(proposal, draft);
      if (answer !== "back") {
        const id = answer === "start" ? await this.starting.start(proposal) : undefined;
        return id === undefined ? undefined : { id, agreed: agreementOf(draft, proposal) };
      }
      draft = await this.filled(title, draft);
    }
    return undefined;
  }

  private filled(title: string, given: Draft): Promise<Draft | undefined> {
    const form = new Form(this.parts, title, (draft) => this.starting.prepare(draft));
    return form.fill(given);
  }

  /** The user's answer to the proposal; without a preset the run starts without a review. */
  private async answerTo(proposal: Proposal, draft: Draft): Promise<ReviewAnswer> {
    let check: ConfigurationCheck | undefined;
    for (;;) {
      const answer =
        draft.preset === NO_PRESET ? "start" : await review(this.texts, proposal, check);
      if (answer === "check") {
        check = await checkConfiguration(() => this.starting.compose(draft), check);
      } else if (answer === "save") {
        await saveAnswers(this.parts, draft, proposal);
      } else {
        return answer;
      }
    }
  }
}
