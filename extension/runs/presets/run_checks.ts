/**
 * The checks before a run: made soon for a program of this machine, else on request; cancelled with the page and by a change
 * of what they are of.
 */

import * as vscode from "vscode";

import type { App } from "../../app";
import { asEaglerayError, isCancellation } from "../../common/errors";
import { plain } from "../../common/texts";
import { COMMANDS } from "../../contributions";
import { ruleFolders } from "../../workspace";
import { DIAGNOSE, type Diagnosis, type DiagnosisTarget } from "../../doctor/messages";
import type { Draft } from "../draft";
import { INTERPRETER } from "../messages";
import { programPython } from "../interpreters";
import type { ChecksNote } from "./options_messages";

/** A diagnosis as the doctor's command shows it. */
interface MadeChecks {
  readonly name: string;
  readonly target: DiagnosisTarget;
  readonly diagnosis: Diagnosis;
  readonly madeAt: number;
}

/** The form is checked when it hasn't changed for this long. */
const PAUSE_MS = 1000;

export class RunChecks implements vscode.Disposable {
  private subject = "";
  /** Arguments of the command that name ports of this machine: no other part of it is in the tab of a result. */
  private ports: readonly string[] = [];
  private timer: NodeJS.Timeout | undefined;
  private running: vscode.CancellationTokenSource | undefined;
  private made: MadeChecks | undefined;
  private failure = "";

  /** `changed` is called after each change of `note`. */
  constructor(
    private readonly app: App,
    private readonly changed: () => void,
  ) {}

  get note(): ChecksNote {
    if (this.running !== undefined) {
      return { state: "checking", problems: 0, text: "" };
    }
    if (this.failure !== "") {
      return { state: "failed", problems: 0, text: this.failure };
    }
    const { diagnosis } = this.made ?? {};
    if (diagnosis === undefined) {
      return { state: "unchecked", problems: 0, text: "" };
    }
    const problems = diagnosis.causes.filter(({ severity }) => severity !== "info");
    return { state: "checked", problems: problems.length, text: plain(diagnosis.sentence) };
  }

  /** The ports of the command, which each check of the form returns. */
  setPorts(ports: readonly string[]): void {
    this.ports = ports;
  }

  /** A draft whose Python, folder, cluster or ports differ is not checked yet. */
  update(draft: Draft): void {
    const subject = JSON.stringify([draft.python, draft.cwd, draft.cluster, this.ports]);
    if (subject === this.subject) {
      return;
    }
    this.subject = subject;
    const isUnchecked = this.note.state === "unchecked";
    this.reset();
    if (!isUnchecked) {
      this.changed();
    }
  }

  /**
   * Checks a program of this machine that isn't checked yet, after a pause: one start of its Python.
   *
   * Nodes of a cluster are checked by a job of Ray, which only a click starts.
   */
  makeSoon(draft: Draft): void {
    this.update(draft);
    clearTimeout(this.timer);
    if (draft.cluster === "" && this.note.state === "unchecked") {
      this.timer = setTimeout(() => {
        void this.make(draft);
      }, PAUSE_MS);
    }
  }

  /** Checks this machine with the program's Python, or compares that with the nodes of its cluster. */
  async make(draft: Draft): Promise<void> {
    this.update(draft);
    this.reset();
    const cancel = new vscode.CancellationTokenSource();
    this.running = cancel;
    this.changed();
    try {
      const named = await this.target(draft);
      const options = { cancel: cancel.token };
      const target = { ...named.target, ...ruleFolders() };
      const diagnosis = await this.app.sidecar.request(DIAGNOSE, target, options);
      if (this.running === cancel) {
        this.made = { ...named, diagnosis, madeAt: Date.now() };
      }
    } catch (error) {
      if (this.running === cancel && !isCancellation(error)) {
        this.failure = plain(asEaglerayError(error).sentence, 600);
      }
    } finally {
      if (this.running === cancel) {
        this.running = undefined;
        this.changed();
      }
      cancel.dispose();
    }
  }

  /** Opens the diagnosis in a tab. */
  async show(): Promise<void> {
    if (this.made !== undefined) {
      await vscode.commands.executeCommand(COMMANDS.diagnose, this.made);
    }
  }

  dispose(): void {
    this.reset();
  }

  private async target(draft: Draft): Promise<Pick<MadeChecks, "name" | "target">> {
    const { cluster, cwd, env } = draft;
    const named = draft.python || (await programPython(this.app, draft)).path;
    const { path } = await this.app.sidecar.request(INTERPRETER, { python: named, cwd, env });
    const command = this.ports.length > 0 ? { command: [...this.ports] } : {};
    const before = { before: true, python: path, ...command };
    if (cluster !== "") {
      const { clusters } = this.app.clusters.value;
      const name = plain(clusters.find(({ id }) => id === cluster)?.name ?? cluster);
      return { name, target: { cluster, ...before } };
    }
    return { name: vscode.l10n.t("This machine"), target: before };
  }

  private reset(): void {
    clearTimeout(this.timer);
    this.running?.cancel();
    this.running = undefined;
    this.made = undefined;
    this.failure = "";
  }
}
