// Finds and ends processes that outlive the run that started them.
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const POLL_INTERVAL_MS = 2000;
// include/linux/sched.h.  The first process of a namespace can't end before all others in it are reaped, which never
// happens where a container's first process isn't an init.
const PF_EXITING = 0x4;

/**
 * Records the processes that are started during its life: descendants of this process, found by polling, and all
 * that have `mark` (`NAME=value`) in their environment. Either alone misses some: Ray overwrites the environment of its
 * workers, and detached processes lose their parent.
 */
export class Started {
  #mark;
  #descendants = new Map();
  #timer;

  constructor(mark) {
    this.#mark = mark;
    this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL_MS);
    this.#timer.unref();
  }

  /**
   * The processes that still run after `graceMs`, in which an unused adapter ends on its own: `[{pid, title}]`.
   * Ends the recording.
   */
  async left(graceMs = 75_000) {
    clearInterval(this.#timer);
    const deadline = Date.now() + graceMs;
    for (;;) {
      const running = this.#poll();
      if (running.length === 0 || Date.now() > deadline) return running;
      await pause(200);
    }
  }

  /** Ends them, each by its id. */
  end() {
    return endEach(() => this.#poll());
  }

  #poll() {
    const all = processes();
    const started = new Set([process.pid]);
    // Repeated until nothing is added: ids wrap around, so that a parent may come after its child.
    for (let before = 0; before !== started.size;) {
      before = started.size;
      for (const { pid, parent } of all) if (started.has(parent)) started.add(pid);
    }
    started.delete(process.pid);
    for (const { pid, since } of all) if (started.has(pid)) this.#descendants.set(pid, since);
    const left = all.filter(
      ({ pid, since }) => this.#descendants.get(pid) === since || carries(pid, this.#mark),
    );
    return left
      .filter(({ pid }) => pid !== process.pid)
      .map(({ pid }) => ({ pid, title: title(pid) }));
  }
}

/** Ends the processes that have the mark in their environment, each by its id. */
export function endMarked(mark) {
  return endEach(() => processes().filter(({ pid }) => pid !== process.pid && carries(pid, mark)));
}

async function endEach(find) {
  for (let round = 0; round < 20; round++) {
    const running = find();
    if (running.length === 0) return;
    for (const { pid } of running) signal(pid, round < 10 ? "SIGTERM" : "SIGKILL");
    await pause(300);
  }
}

/** `{pid, parent, since}` of all running processes; a pid is reused, but not with the same start time. */
function processes() {
  const names = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return names.flatMap((name) => {
    // The name of the program, in brackets, may itself contain blanks and brackets.
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
  const command = read(`/proc/${pid}/cmdline`).split("\0").join(" ").trim();
  return `${pid} ${command.slice(0, 160) || read(`/proc/${pid}/comm`).trim()}`;
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
