/** Questions of ssh, such as a host key, a passphrase or a one-time code; the answers are not stored. */

import * as vscode from "vscode";

import type { App } from "../app";
import { plain } from "../common/texts";
import { ANSWER, type SshQuestion } from "./messages";

/** A box on the screen: its answer, and how to close it. */
interface ShownQuestion {
  readonly question: SshQuestion;
  readonly answer: Promise<string | undefined>;
  close(): void;
}

/**
 * Shows one question after another, since the editor has room for one box, and notices beside them.
 *
 * 1. An answer goes to the sidecar and is forgotten; Escape is the answer "cancelled".
 * 2. A question that is over (ssh gave up, or another answer came) takes its box away unanswered.
 * 3. When the sidecar ends, all of its questions are over.
 */
export class SshQuestions {
  private readonly waiting: SshQuestion[] = [];
  private readonly notices = new Map<number, () => void>();
  private shown: ShownQuestion | undefined;

  constructor(private readonly app: App) {}

  add(question: SshQuestion): void {
    if (question.kind === "notice") {
      this.notify(question);
      return;
    }
    this.waiting.push(question);
    this.next();
  }

  private next(): void {
    const question = this.shown === undefined ? this.waiting.shift() : undefined;
    if (question !== undefined) {
      const shown = question.kind === "confirm" ? dialog(question) : box(question);
      this.shown = shown;
      void this.pass(shown);
    }
  }

  private async pass(shown: ShownQuestion): Promise<void> {
    const text = await shown.answer;
    // Without `shown` the question was over before the answer came.
    const wanted = this.shown === shown;
    if (wanted) {
      this.shown = undefined;
      await this.sendAnswer(shown.question.id, text ?? null);
    }
    this.next();
  }

  private async sendAnswer(id: number, text: string | null): Promise<void> {
    try {
      await this.app.sidecar.request(ANSWER, { id, text });
    } catch (error) {
      // Only which question it was: the answer may be a secret.
      this.app.log.warn(`the answer to question ${id} was not taken: ${String(error)}`);
    }
  }

  close(id: number): void {
    this.notices.get(id)?.();
    const at = this.waiting.findIndex((question) => question.id === id);
    if (at !== -1) {
      this.waiting.splice(at, 1);
    }
    if (this.shown?.question.id === id) {
      const { shown } = this;
      this.shown = undefined;
      shown.close();
    }
  }

  closeAll(): void {
    const shown = this.shown === undefined ? [] : [this.shown.question];
    for (const { id } of [...this.waiting, ...shown]) {
      this.close(id);
    }
    for (const end of [...this.notices.values()]) {
      end();
    }
  }

  private notify(question: SshQuestion): void {
    const title = `${questionTitle(question)}: ${questionLine(question)}`;
    const over = new Promise<void>((resolve) => {
      this.notices.set(question.id, () => {
        this.notices.delete(question.id);
        resolve();
      });
    });
    const location = vscode.ProgressLocation.Notification;
    void vscode.window.withProgress({ location, title }, () => over);
  }
}

function box(question: SshQuestion): ShownQuestion {
  const input = vscode.window.createInputBox();
  input.title = questionTitle(question);
  input.prompt = questionLine(question);
  input.password = question.kind === "secret";
  // A one-time code is looked up elsewhere.
  input.ignoreFocusOut = true;
  const answer = new Promise<string | undefined>((resolve) => {
    input.onDidAccept(() => {
      resolve(input.value);
      input.hide();
    });
    input.onDidHide(() => {
      resolve(undefined);
      input.dispose();
    });
  });
  input.show();
  return {
    question,
    answer,
    close: () => {
      input.hide();
    },
  };
}

/**
 * The editor can't close a dialog, so the answer to a question that is over is dropped.
 *
 * The first button is the default one, which Enter presses, so it never is the one that trusts.
 */
function dialog(question: SshQuestion): ShownQuestion {
  const isKey = asksForHostKey(question);
  const [no, yes] = isKey
    ? [vscode.l10n.t("Don't Connect"), vscode.l10n.t("Trust and Connect")]
    : [vscode.l10n.t("No"), vscode.l10n.t("Yes")];
  const lines = plainLines(question.prompt);
  // The buttons say what ssh asks on the last line.
  const detail = lines.filter((line) => !isKey || !line.includes("(yes/no")).join("\n");
  const clicked = vscode.window.showWarningMessage(
    isKey ? hostKeyTitle(question) : questionTitle(question),
    { modal: true, detail },
    no,
    yes,
  );
  const answer = Promise.resolve(clicked).then(
    (title) => (title === yes ? "yes" : undefined),
    () => undefined,
  );
  return { question, answer, close: () => undefined };
}

/** Whether ssh doesn't know the host key yet; its prompt is the same in every version. */
function asksForHostKey({ prompt }: SshQuestion): boolean {
  return /authenticity of host .* can't be established/is.test(prompt);
}

function hostKeyTitle({ ssh }: SshQuestion): string {
  return ssh === ""
    ? vscode.l10n.t("Trust this unknown host?")
    : vscode.l10n.t("Trust the unknown host {0}?", plain(ssh));
}

/** A prompt may contain a menu of authentication methods. */
const LONGEST = 1_000;
const MOST_LINES = 30;

/** The user's name for the host comes first, since the prompt may contain any text. */
function questionTitle({ ssh }: SshQuestion): string {
  return ssh === "" ? vscode.l10n.t("SSH") : vscode.l10n.t("SSH to {0}", plain(ssh));
}

/** The prompt for a box, which has room for one paragraph. */
function questionLine({ prompt }: SshQuestion): string {
  return plainLines(prompt).join(" · ") || vscode.l10n.t("Enter a response");
}

function plainLines(prompt: string): string[] {
  return prompt
    .slice(0, LONGEST)
    .split(/\r?\n/)
    .map((line) => plain(line, LONGEST))
    .filter((line) => line !== "")
    .slice(0, MOST_LINES);
}
