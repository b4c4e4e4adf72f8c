/** The processes of this machine, as /proc shows them. */

import * as fs from "node:fs";

export function processes() {
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function environmentOf(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** The processes that have `name=value` in their environment. */
export function marked(name, value) {
  return processes().filter(
    (pid) => pid !== process.pid && environmentOf(pid).includes(`${name}=${value}`),
  );
}

/** The processes with this argument in their command line. */
export function markedWith(name, value, argument) {
  return marked(name, value).filter((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(argument);
    } catch {
      return false;
    }
  });
}

/** Ends them: adapters outlive their window by design. */
export function endMarked(name, value) {
  for (const pid of marked(name, value)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}
