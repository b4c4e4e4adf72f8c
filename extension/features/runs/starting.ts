/** Starts what was drafted: prepares it, asks where that is due, and shows what comes of it. */

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import { isConfirmed } from "../../confirming";
import { longWork } from "../../long_work";
import type { Parts } from "../../parts";
import { setting } from "../../settings";
import { windowName } from "../../workspace";
import { prepareOf, type Draft } from "./draft";
import { gutterBreakpoints } from "./gutter";
import { RESTART, START, STOP, type Run } from "./messages";
import {
  COMPOSE,
  PREPARE,
  type Composition,
  type Prepare,
  type Proposal,
} from "../presets/messages";
import type { Output } from "./output";
import { planWith, withRay } from "./python_question";
import { whatBefore } from "./restarting";
import { untilStopped } from "./run_end";
import { isOfThisWindow, programPython } from "./surroundings";

const SUBMIT = "Submit";

export class Starting {
  /** The ids of what is started are put into `started`. */
  constructor(
    private readonly parts: Parts,
    private readonly output: Output,
    private readonly started: Set<string>,
  ) {}

  /** What would be started now, with the breakpoints of the gutter. */
  async prepare(draft: Draft): Promise<Proposal> {
    const asked = await this.prepareRequest(draft);
    return await longWork("Preparing the run", (options) =>
      this.parts.sidecar.request(PREPARE, asked, options),
    );
  }

  /** Composes the configuration of the run with the Python of the program, which runs its imports. */
  async compose(draft: Draft): Promise<Composition> {
    const asked = await this.prepareRequest(draft);
    return await longWork("Checking the configuration", (options) =>
      this.parts.sidecar.request(COMPOSE, asked, options),
    );
  }

  /** Prepares and starts; the id of the run, or undefined when the person said no. */
  async run(draft: Draft): Promise<string | undefined> {
    return await this.start(await this.prepare(draft));
  }

  async start(proposal: Proposal): Promise<string | undefined> {
    const { plan, confirm, title } = proposal;
    const question = `Submit ${plan.name} to SLURM?`;
    if (confirm !== "" && !(await isConfirmed(question, confirm, SUBMIT))) {
      return undefined;
    }
    const started = await withRay(this.parts, (choice) =>
      longWork(`Starting ${plain(title)}`, (options) => {
        const { anyway } = choice;
        const asked = { plan: planWith(plan, choice), confirmed: confirm !== "", anyway };
        return this.parts.sidecar.request(START, asked, options);
      }),
    );
    if (started !== undefined) {
      this.warn(proposal);
      await this.show(started.id);
    }
    return started?.id;
  }

  /** The same command once more; one that goes on is stopped first, one that may go on as the person says. */
  async again(run: Run): Promise<string | undefined> {
    const before = await whatBefore(run);
    if (before === undefined) {
      return undefined;
    }
    const submits = run.kind === "sbatch";
    if (submits && !(await isConfirmed("Submit to SLURM once more?", run.command, SUBMIT))) {
      return undefined;
    }
    if (before === "stop") {
      await this.stopFirst(run);
    }
    await vscode.workspace.saveAll(false);
    const breakpoints = isOfThisWindow(run) ? gutterBreakpoints() : null;
    const confirmed = submits || run.confirm_stop !== "";
    const asked = { id: run.id, breakpoints, confirmed };
    const started = await withRay(this.parts, (choice) =>
      longWork(`Starting ${plain(run.name)}`, (options) =>
        this.parts.sidecar.request(RESTART, { ...asked, ...choice }, options),
      ),
    );
    if (started !== undefined) {
      await this.show(started.id);
    }
    return started?.id;
  }

  /** Two of one program would fight for its GPUs, ports and folders. */
  private async stopFirst(run: Run): Promise<void> {
    const confirmed = run.confirm_stop !== "";
    await longWork(`Stopping ${plain(run.name)}`, async (options) => {
      await this.parts.sidecar.request(STOP, { id: run.id, confirmed }, options);
      await untilStopped(this.parts, run.id, options.cancel);
    });
  }

  private async show(id: string): Promise<void> {
    this.started.add(id);
    if (setting("runs.showOutput")) {
      await this.output.show(id, true);
    }
  }

  private async prepareRequest(draft: Draft): Promise<Prepare> {
    // The sidecar reads the program and the lines of breakpoints from the saved files.
    await vscode.workspace.saveAll(false);
    const python = draft.python || (await programPython());
    return prepareOf({ ...draft, python }, windowName(), gutterBreakpoints());
  }

  /** Problems with breakpoints don't prevent a start. */
  private warn({ problems }: Proposal): void {
    for (const { code, message, next_step } of problems.filter((one) => one.code !== "no-ray")) {
      this.parts.log.warn(`the run: ${code}: ${message} ${next_step}`);
      void vscode.window.showWarningMessage(plain(`${message} ${next_step}`.trim(), 600));
    }
  }
}
