/** A run by a form; with a preset, what that changes is shown before anything starts. */

import type { Parts } from "../../parts";
import { NO_PRESET, type Draft } from "./draft";
import { Form } from "./form";
import type { Review } from "./review";
import type { Starting } from "./starting";

export class Guided {
  constructor(
    private readonly parts: Parts,
    private readonly starting: Starting,
    private readonly review: Review,
  ) {}

  /** From the form to the review and back, until the person starts it or leaves; the id of the run. */
  async run(title: string, given: Draft): Promise<string | undefined> {
    const form = new Form(this.parts, title, (draft) => this.starting.prepare(draft));
    let draft = await form.fill(given);
    while (draft !== undefined) {
      const proposal = await this.starting.prepare(draft);
      const answer = draft.preset === NO_PRESET ? "start" : await this.review.of(proposal);
      if (answer !== "back") {
        return answer === "start" ? await this.starting.start(proposal) : undefined;
      }
      draft = await form.fill(draft);
    }
    return undefined;
  }
}
