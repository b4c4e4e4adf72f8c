/** A terminal on the output of one run: replays what was printed, follows what comes, and stays when the run is over. */

import * as vscode from "vscode";

import { Backoff } from "../../common/backoff";
import { Disposables } from "../../common/disposables";
import { asEaglerayError, isCancellation } from "../../common/errors";
import { COMMANDS } from "../../contributions";
import type { Parts } from "../../parts";
import { OUTPUT, STOP, type OutputPiece, type Run } from "./messages";
import { isLive } from "./model";
import { closingLines, interruptLine, Notices, skippedLine, terminalLines } from "./terminal_model";

/** Between two pieces, so that a window draws what a program prints without end. */
const PAUSE_MS = 30;
const CTRL_C = "\x03";
const ESCAPE = "\x1b";

/** The editor opens and closes it; whatever happens in it, only Ctrl-C stops the run. */
export class RunTerminal implements vscode.Pseudoterminal {
  private readonly owned = new Disposables();
  private readonly writing = this.owned.add(new vscode.EventEmitter<string>());
  private readonly closing = this.owned.add(new vscode.EventEmitter<void>());
  private readonly cancel = new vscode.CancellationTokenSource();
  private readonly notices = new Notices();
  private readonly backoff = new Backoff();
  private isAtLineStart = true;
  private isOver = false;
  private interrupts = 0;
  readonly onDidWrite = this.writing.event;
  readonly onDidClose = this.closing.event;

  constructor(
    private readonly parts: Parts,
    private readonly id: string,
  ) {}

  open(): void {
    const look = (): void => {
      this.notice();
    };
    this.owned.add(this.parts.runs.onChanged(look));
    this.owned.add(this.parts.profiled.onChanged(look));
    void this.parts.errors.shown("showing a run’s output", () => this.follow());
  }

  close(): void {
    this.cancel.cancel();
    this.owned.dispose();
  }

  /** 1. Ctrl-C stops a live run, as at a terminal.  2. After its end R starts it again, and other keys close. */
  handleInput(data: string): void {
    if (!this.isOver) {
      if (data.includes(CTRL_C)) {
        void this.interrupt();
      }
      return;
    }
    const run = this.run;
    if (/^[rR]$/.test(data) && run !== undefined && !isLive(run)) {
      void vscode.commands.executeCommand(COMMANDS.restartRun, { row: "run", run });
      this.closing.fire();
    } else if (data === ESCAPE || !data.startsWith(ESCAPE)) {
      // Arrow keys and whatever else the terminal itself sends begin so, and close nothing.
      this.closing.fire();
    }
  }

  private get isClosed(): boolean {
    return this.cancel.token.isCancellationRequested;
  }

  private get run(): Run | undefined {
    return this.parts.runs.value.runs.find((one) => one.id === this.id);
  }

  private async follow(): Promise<void> {
    this.notice();
    let offset = -1;
    for (;;) {
      const piece = await this.next(offset);
      if (piece === undefined) {
        break;
      }
      this.show(piece, offset < 0);
      offset = piece.next;
      if (piece.is_over) {
        break;
      }
      await pause(PAUSE_MS);
    }
    await this.end();
  }

  /** Retries while the sidecar is away; undefined when the run is no longer listed, or the terminal is closed. */
  private async next(offset: number): Promise<OutputPiece | undefined> {
    while (!this.isClosed) {
      const since = Date.now();
      try {
        const options = { cancel: this.cancel.token };
        return await this.parts.sidecar.request(OUTPUT, { id: this.id, offset }, options);
      } catch (error) {
        const { code, sentence } = asEaglerayError(error);
        if (isCancellation(error) || code === "unknown-run") {
          return undefined;
        }
        this.parts.log.warn(`the output of run ${this.id}: ${code}: ${sentence}`);
        await pause(this.backoff.next(Date.now() - since));
      }
    }
    return undefined;
  }

  private show({ text, skipped }: OutputPiece, isFirst: boolean): void {
    if (skipped > 0) {
      this.line(skippedLine(skipped, isFirst, this.run));
    }
    this.write(text);
  }

  /** Writes the news of the run's row since the last update, as separate lines. */
  private notice(): void {
    const run = this.run;
    if (run !== undefined && !this.isOver && isLive(run)) {
      for (const line of this.notices.of(run, this.parts.profiled.value)) {
        this.line(line);
      }
    }
  }

  private async end(): Promise<void> {
    if (this.isClosed) {
      return;
    }
    await this.parts.latestRuns().catch(() => undefined);
    this.isOver = true;
    const lines = closingLines(this.run, this.notices.last);
    this.line(lines.join("\r\n"));
  }

  private async interrupt(): Promise<void> {
    this.interrupts += 1;
    const run = this.run;
    this.line(`^C\r\n${interruptLine(run, this.parts.profiled.value, this.interrupts)}`);
    if (run?.kind === "sbatch") {
      return;
    }
    try {
      await this.parts.sidecar.request(STOP, { id: this.id, confirmed: false });
    } catch (error) {
      this.line(terminalLines(asEaglerayError(error).sentence));
    }
  }

  private line(text: string): void {
    this.write(`${this.isAtLineStart ? "" : "\n"}${text}\n`);
  }

  private write(text: string): void {
    if (text !== "" && !this.isClosed) {
      this.isAtLineStart = text.endsWith("\n");
      this.writing.fire(text.replace(/\r?\n/g, "\r\n"));
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
