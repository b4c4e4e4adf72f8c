/** “Add Cluster…”: what there is to choose from, and what becomes of the choice. */

import type { CancellationToken } from "vscode";

import { asEaglerayError, isCancellation } from "../../common/errors";
import { plain } from "../../common/texts";
import { longWork } from "../../long_work";
import type { Parts } from "../../parts";
import { addSections, hostSections, lookSections, type Chosen } from "./choices";
import type { Connecting } from "./connecting";
import { CHOICES, LOOK_AT, type Choices, type Cluster } from "./messages";
import { pickChoice } from "./picker";

export class Adding {
  constructor(
    private readonly parts: Parts,
    private readonly connecting: Connecting,
  ) {}

  /** Scripts may give the address; a person chooses. */
  async add(given: unknown): Promise<Cluster | undefined> {
    if (typeof given === "string") {
      return this.connecting.connect(given.trim(), `Connecting to ${plain(given)}`);
    }
    for (;;) {
      const offered = new Offered(this.parts);
      const chosen = await this.address(await this.choose(offered), offered);
      if (chosen?.kind === "address") {
        return this.connecting.connect(chosen.address, chosen.title);
      }
      if (chosen?.kind !== "lookForJobs" || !(await this.lookForJobs(chosen.host))) {
        return undefined;
      }
      // The jobs that were found there are among the choices now.
    }
  }

  /** Has jobs looked for on a host that is given or chosen; false when the person gave up. */
  async lookForJobs(given: string | undefined): Promise<boolean> {
    const host = given ?? (await this.chooseHost());
    if (host === undefined) {
      return false;
    }
    await longWork(`Looking for your jobs on ${plain(host)}`, (options) =>
      this.parts.sidecar.request(LOOK_AT, { host }, options),
    );
    return true;
  }

  private choose(offered: Offered): Promise<Chosen | undefined> {
    return pickChoice({
      title: "Add a Ray cluster",
      placeholder: "Choose one, or type an address: 8265, host:8265, https://…, ssh://host/8265",
      sections: (typed) => addSections(offered.choices, offered.asked, typed),
      load: (cancel) => offered.load(cancel),
    });
  }

  /** A host that was chosen leads to a second question; anything else is the answer already. */
  private async address(
    chosen: Chosen | undefined,
    { choices }: Offered,
  ): Promise<Chosen | undefined> {
    if (chosen?.kind !== "host") {
      return chosen;
    }
    const { host } = chosen;
    const lookedAt = choices.ssh_hosts.some((one) => one.name === host && one.looked_at);
    return pickChoice({
      title: `Ray behind ssh ${plain(host)}`,
      placeholder: "Choose one, or type an address as seen from there: 8265, node-1:8265",
      sections: (typed) => hostSections(host, lookedAt, typed),
    });
  }

  private async chooseHost(): Promise<string | undefined> {
    const offered = new Offered(this.parts);
    const chosen = await pickChoice({
      title: "Look for your SLURM jobs on a host",
      placeholder: "Choose one, or type it as you would for ssh",
      sections: (typed) => lookSections(offered.choices.ssh_hosts, typed),
      load: (cancel) => offered.load(cancel),
    });
    return chosen?.kind === "lookForJobs" ? chosen.host : undefined;
  }
}

/** What is offered: at first what the panel knows, then all. */
class Offered {
  choices: Choices;
  asked = false;

  constructor(private readonly parts: Parts) {
    this.choices = { jobs: parts.clusters.value.jobs, ssh_hosts: [], problems: [] };
  }

  /** An error stands among the choices: an address can be typed all the same. */
  async load(cancel: CancellationToken): Promise<void> {
    try {
      this.choices = await this.parts.sidecar.request(CHOICES, {}, { cancel });
      this.asked = true;
    } catch (error) {
      const { code, message, nextStep } = asEaglerayError(error);
      if (!isCancellation(error)) {
        const problems = [{ code, message, next_step: nextStep }];
        this.choices = { ...this.choices, problems };
      }
    }
  }
}
