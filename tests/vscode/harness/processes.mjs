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

/** The processes of ours that carry `name=value` in their environment. */
export function marked(name, value) {
  return processes().filter(
    (pid) => pid !== process.pid && environmentOf(pid).includes(`${name}=${value}`),
  );
}

/** Those of them that have `word` among the words of their command line. */
export function markedWith(name, value, word) {
  return marked(name, value).filter((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(word);
    } catch {
      return false;
    }
  });
}

/** Ends them: adapters outlive their window on purpose. */
export function endMarked(name, value) {
  for (const pid of marked(name, value)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}
