/** The terminal of one run: replays its output, follows it, and stays open when the run is over. */

import * as vscode from "vscode";

import type { App } from "../app";
import { Backoff } from "../common/backoff";
import { Disposables } from "../common/disposables";
import { asEaglerayError, isCancellation } from "../common/errors";
import { duration, plain } from "../common/texts";
import { COMMANDS } from "../contributions";
import type { ProfiledRuns } from "../profile/recordings/messages";
import { shortPlace } from "../debug/workers/names";
import { OUTPUT, STOP, type OutputPiece, type Run, type RunWorkerStatus } from "./messages";
import { runRecording } from "./recording_texts";
import { workerTitle } from "./worker_names";
import { endingText } from "./state_texts";
import { isAtStop, isLive } from "./states";

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
  private readonly notices = new RunNotices();
  private readonly backoff = new Backoff();
  private isAtLineStart = true;
  private isOver = false;
  private interrupts = 0;
  readonly onDidWrite = this.writing.event;
  readonly onDidClose = this.closing.event;

  constructor(
    private readonly app: App,
    private readonly id: string,
  ) {}

  open(): void {
    const update = (): void => {
      this.writeNotices();
    };
    this.owned.add(this.app.runs.onChanged(update));
    this.owned.add(this.app.profiled.onChanged(update));
    void this.app.errors.shown("showing a run’s output", () => this.follow());
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
    return this.app.runs.value.runs.find((run) => run.id === this.id);
  }

  private async follow(): Promise<void> {
    this.writeNotices();
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
        return await this.app.sidecar.request(OUTPUT, { id: this.id, offset }, options);
      } catch (error) {
        const { code, sentence } = asEaglerayError(error);
        if (isCancellation(error) || code === "unknown-run") {
          return undefined;
        }
        this.app.log.warn(`the output of run ${this.id}: ${code}: ${sentence}`);
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
  private writeNotices(): void {
    const run = this.run;
    if (run !== undefined && !this.isOver && isLive(run)) {
      for (const line of this.notices.of(run, this.app.profiled.value)) {
        this.line(line);
      }
    }
  }

  private async end(): Promise<void> {
    if (this.isClosed) {
      return;
    }
    await this.app.latestRuns().catch(() => undefined);
    this.isOver = true;
    const lines = closingLines(this.run, this.notices.last);
    this.line(lines.join("\r\n"));
  }

  private async interrupt(): Promise<void> {
    this.interrupts += 1;
    const run = this.run;
    this.line(`^C\r\n${interruptLine(run, this.app.profiled.value, this.interrupts)}`);
    if (run?.kind === "sbatch") {
      return;
    }
    try {
      await this.app.sidecar.request(STOP, { id: this.id, confirmed: false });
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

/** Ends colours and character sets of the program, and shows the cursor. */
const RESET = "\x1b[0m\x1b(B\x1b[?25h\x1b[?7h";
const MOST_NAMED = 3;
/** In place of the number of a stop that an editor shows or has shown. */
const IN_EDITOR = -1;

/** A line that looks different from the program's. */
function terminalLines(text: string): string {
  return `${RESET}\x1b[2m[eagleray] ${plain(text, 600)}\x1b[0m`;
}

/** News of a run since the last update: paused workers, its note, the state of its recordings. */
class RunNotices {
  /** Numbers of the last stops, by worker. */
  private stops: ReadonlyMap<string, number> = new Map();
  private note = "";
  private profile = "";

  /** The note that was shown last. */
  get last(): string {
    return this.note;
  }

  of(run: Run, profiled: ProfiledRuns): readonly string[] {
    const lines = [...this.pausedLines(run)];
    if (run.note !== this.note) {
      this.note = run.note;
      lines.push(run.note);
    }
    const { sentence } = runRecording(profiled, run);
    if (sentence !== this.profile) {
      this.profile = sentence;
      lines.push(sentence);
    }
    return lines.filter((line) => line !== "").map(terminalLines);
  }

  /** Each worker once for each time it pauses; of many at once, the first few by name. */
  private pausedLines(run: Run): readonly string[] {
    const fresh = this.newStops(run);
    const lines = fresh
      .slice(0, MOST_NAMED)
      .map((worker) =>
        worker.path === ""
          ? vscode.l10n.t("{0} paused", workerTitle(worker))
          : vscode.l10n.t(
              "{0} paused at {1}",
              workerTitle(worker),
              shortPlace(worker.path, worker.line),
            ),
      );
    const more = fresh.length - lines.length;
    if (more === 0) {
      return lines;
    }
    return [
      ...lines,
      more === 1
        ? vscode.l10n.t("1 more worker paused")
        : vscode.l10n.t("{0} more workers paused", more),
    ];
  }

  /** The workers at a new stop; in an editor, where each step is a stop, only the first is new. */
  private newStops(run: Run): readonly RunWorkerStatus[] {
    const before = this.stops;
    const stops = new Map<string, number>();
    this.stops = stops;
    return run.workers.filter((worker) => {
      const last = before.get(worker.worker_id);
      if (worker.state === "paused") {
        stops.set(worker.worker_id, worker.stop);
        return last !== worker.stop;
      }
      if (!isAtStop(worker) && last !== IN_EDITOR) {
        return false;
      }
      stops.set(worker.worker_id, IN_EDITOR);
      return last === undefined;
    });
  }
}

function skippedLine(bytes: number, isFirst: boolean, run: Run | undefined): string {
  const size =
    bytes < 2 ** 20 ? `${Math.ceil(bytes / 1024)} KB` : `${Math.round(bytes / 2 ** 20)} MB`;
  const what = isFirst
    ? vscode.l10n.t("The first {0} are not shown.", size)
    : vscode.l10n.t("Skipped {0}: the program prints faster than the terminal shows.", size);
  const hasFile = run !== undefined && run.output !== "";
  return terminalLines(hasFile ? `${what} ${vscode.l10n.t("All output: {0}", run.output)}` : what);
}

/** The effect of the `times`th Ctrl-C. */
function interruptLine(run: Run | undefined, profiled: ProfiledRuns, times: number): string {
  if (run?.kind === "sbatch") {
    return terminalLines(vscode.l10n.t("The SLURM job keeps running. “Stop Run” cancels it."));
  }
  if (times > 1) {
    return terminalLines(vscode.l10n.t("Stopping now…"));
  }
  const isProfiled = run !== undefined && runRecording(profiled, run).context !== "";
  return terminalLines(
    isProfiled
      ? vscode.l10n.t("Downloading the reports before the end. Press Ctrl-C again to skip that.")
      : vscode.l10n.t("Stopping… Press Ctrl-C again to stop now."),
  );
}

/** How the run ended, and what the keys do now; its note unless that was shown last. */
function closingLines(run: Run | undefined, note: string): readonly string[] {
  if (run === undefined) {
    return [closing(vscode.l10n.t("This run is no longer listed. Press any key to close."))];
  }
  const why = run.note === "" || run.note === note ? [] : [terminalLines(run.note)];
  if (run.state === "unwatched") {
    const text = vscode.l10n.t(
      "{0} may still be running. Its output is no longer copied.",
      plain(run.name),
    );
    return [...why, closing(`${text} ${vscode.l10n.t("Press any key to close.")}`)];
  }
  const took = duration(run.ended - run.started);
  const keys = vscode.l10n.t("Press R to run again, any other key to close.");
  return [...why, closing(`${endingText({ ...run, name: plain(run.name) }, took)} ${keys}`)];
}

function closing(text: string): string {
  return `${RESET}\x1b[7m * \x1b[0m ${text}`;
}
