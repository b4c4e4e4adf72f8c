/** The lines that Eagleray adds to the output of a run. */

import { duration } from "../../common/durations";
import { count, plain } from "../../common/texts";
import type { ProfiledRuns } from "../profiling/messages";
import type { Run } from "./messages";
import { runProfile } from "./model";

/** Ends colours and character sets of the program, and shows the cursor. */
const RESET = "\x1b[0m\x1b(B\x1b[?25h\x1b[?7h";
const MOST_NAMED = 3;

/** A line that looks different from those of the program. */
export function terminalLines(text: string): string {
  return `${RESET}\x1b[2m[eagleray]\x1b[0m ${plain(text, 600)}`;
}

/** News of a run since the last update: paused workers, its note, the state of its recordings. */
export class Notices {
  private readonly paused = new Set<string>();
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
    const { sentence } = runProfile(profiled, run);
    if (sentence !== this.profile) {
      this.profile = sentence;
      lines.push(sentence);
    }
    return lines.filter((line) => line !== "").map(terminalLines);
  }

  /** Each worker once for each time it pauses; of many at once, the first few by name. */
  private pausedLines(run: Run): readonly string[] {
    const stopped = run.workers.filter((worker) => worker.state === "stopped");
    const fresh = stopped.filter(({ worker_id }) => !this.paused.has(worker_id));
    this.paused.clear();
    for (const { worker_id } of stopped) {
      this.paused.add(worker_id);
    }
    const lines = fresh.slice(0, MOST_NAMED).map(({ name, pid, path, line }) => {
      const at = path === "" ? "" : ` at ${path.slice(path.lastIndexOf("/") + 1)}:${line}`;
      return `${name || `process ${pid}`} paused${at}`;
    });
    const more = fresh.length - lines.length;
    return more > 0 ? [...lines, `${count(more, "more worker")} paused`] : lines;
  }
}

export function skippedLine(bytes: number, isFirst: boolean, run: Run | undefined): string {
  const size =
    bytes < 2 ** 20 ? `${Math.ceil(bytes / 1024)} KB` : `${Math.round(bytes / 2 ** 20)} MB`;
  const what = isFirst
    ? `The first ${size} are not shown.`
    : `${size} are skipped: the program prints faster than this terminal shows.`;
  const all = run === undefined || run.output === "" ? "" : ` All output: ${run.output}`;
  return terminalLines(`${what}${all}`);
}

/** The effect of the `times`th Ctrl-C. */
export function interruptLine(run: Run | undefined, profiled: ProfiledRuns, times: number): string {
  if (run?.kind === "sbatch") {
    return terminalLines("The SLURM job keeps running. “Stop Run” cancels it.");
  }
  if (times > 1) {
    return terminalLines("Stopping at once…");
  }
  const isProfiled = run !== undefined && runProfile(profiled, run).context !== "";
  return terminalLines(
    isProfiled
      ? "Finishing: Eagleray gathers the reports first. Press Ctrl-C again to skip that."
      : "Stopping… Press Ctrl-C again to hurry.",
  );
}

/** How the run ended, and what the keys do now; its note unless that was shown last. */
export function closingLines(run: Run | undefined, note: string): readonly string[] {
  if (run === undefined) {
    return [closing("This run is no longer listed. Press any key to close.")];
  }
  const why = run.note === "" || run.note === note ? [] : [terminalLines(run.note)];
  if (run.state === "unwatched") {
    const text = `${plain(run.name)} may still be running, but nothing copies its output any more.`;
    return [...why, closing(`${text} Press any key to close.`)];
  }
  const took = duration(run.ended - run.started);
  const keys = "Press R to run again, any other key to close.";
  return [...why, closing(`${plain(run.name)} ${ending(run)} after ${took}. ${keys}`)];
}

function closing(text: string): string {
  return `${RESET}\x1b[7m * \x1b[0m ${text}`;
}

function ending({ state, code }: Run): string {
  switch (state) {
    case "failed":
      return code === null ? "failed" : `failed with exit code ${code}`;
    case "stopped":
      return "was stopped";
    default:
      return code === null ? "ended" : `ended with exit code ${code}`;
  }
}
