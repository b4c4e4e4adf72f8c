// Processes that a run of ours started and that outlived it, found by a mark in their environment.
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/** What still runs with the mark `NAME=value` after a moment of grace: `[{pid, title}]`, without ourselves. */
export async function markedProcesses(mark, graceMs = 15_000) {
  const deadline = Date.now() + graceMs;
  for (;;) {
    const found = marked(mark);
    if (found.length === 0 || Date.now() > deadline) return found;
    await pause(200);
  }
}

/** Ends them, each by its id. */
export async function endMarked(mark) {
  for (let round = 0; round < 20; round++) {
    const found = marked(mark);
    if (found.length === 0) return;
    for (const { pid } of found) signal(pid, round < 10 ? "SIGTERM" : "SIGKILL");
    await pause(300);
  }
}

function marked(mark) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => read(`/proc/${pid}/environ`).split("\0").includes(mark))
    .map((pid) => ({ pid: Number(pid), title: title(pid) }));
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
