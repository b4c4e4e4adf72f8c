// Processes that a run of ours started and that outlived it.
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const LOOK_MS = 2000;
// include/linux/sched.h.  The first process of a namespace cannot go before all others in it were reaped, which
// nobody does where a container's first process is not made for it.
const PF_EXITING = 0x4;

/**
 * Keeps account of what is started from its making on: descendants of this process, seen by looking now
 * and then, and whatever carries `mark` (`NAME=value`) in its environment. Either alone misses some:
 * Ray overwrites the environment of its workers, and detached processes lose their parent.
 */
export class Started {
  #mark;
  #seen = new Map();
  #timer;

  constructor(mark) {
    this.#mark = mark;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  /**
   * What still runs after the minute in which an unused adapter ends by itself: `[{pid, title}]`; the
   * account is closed.
   */
  async left(graceMs = 75_000) {
    clearInterval(this.#timer);
    const deadline = Date.now() + graceMs;
    for (;;) {
      const found = this.#look();
      if (found.length === 0 || Date.now() > deadline) return found;
      await pause(200);
    }
  }

  /** Ends them, each by its id. */
  end() {
    return endEach(() => this.#look());
  }

  #look() {
    const all = processes();
    const ours = new Set([process.pid]);
    // Parents have mostly smaller ids than their children, but ids start anew: until nothing is added.
    for (let before = 0; before !== ours.size;) {
      before = ours.size;
      for (const { pid, parent } of all) if (ours.has(parent)) ours.add(pid);
    }
    ours.delete(process.pid);
    for (const { pid, since } of all) if (ours.has(pid)) this.#seen.set(pid, since);
    const left = all.filter(
      ({ pid, since }) => this.#seen.get(pid) === since || carries(pid, this.#mark),
    );
    return left
      .filter(({ pid }) => pid !== process.pid)
      .map(({ pid }) => ({ pid, title: title(pid) }));
  }
}

/** Ends what carries the mark in its environment, each by its id. */
export function endMarked(mark) {
  return endEach(() => processes().filter(({ pid }) => pid !== process.pid && carries(pid, mark)));
}

async function endEach(find) {
  for (let round = 0; round < 20; round++) {
    const found = find();
    if (found.length === 0) return;
    for (const { pid } of found) signal(pid, round < 10 ? "SIGTERM" : "SIGKILL");
    await pause(300);
  }
}

/** `{pid, parent, since}` of all that run; a pid is given anew, together with its start it is not. */
function processes() {
  const names = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return names.flatMap((name) => {
    // The name of the program, in brackets, may itself hold blanks and brackets.
    const fields = read(`/proc/${name}/stat`).split(") ").at(-1).split(" ");
    const [state, parent, flags, since] = [fields[0], Number(fields[1]), fields[6], fields[19]];
    const isOver = since === undefined || state === "Z" || (Number(flags) & PF_EXITING) !== 0;
    return isOver ? [] : [{ pid: Number(name), parent, since }];
  });
}

function carries(pid, mark) {
  return read(`/proc/${pid}/environ`).split("\0").includes(mark);
}

function title(pid) {
  const words = read(`/proc/${pid}/cmdline`).split("\0").join(" ").trim();
  return `${pid} ${words.slice(0, 160) || read(`/proc/${pid}/comm`).trim()}`;
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}
