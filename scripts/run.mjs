// Child processes of the developer's scripts: runs commands, retries downloads, ends what still runs.
import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";

// A suite that is terminated ends its Ray cluster, which takes a while on a busy machine.
const TIME_TO_END_MS = 45_000;

const running = new Set();
let ending = false;

/** Ends all process groups that were started here; after `graceMs` they are killed. */
export async function endAll(graceMs = TIME_TO_END_MS) {
  const groups = [...running];
  for (const child of groups) signalGroup(child, "SIGTERM");
  const deadline = Date.now() + graceMs;
  while (groups.some((child) => running.has(child)) && Date.now() < deadline) await pause(50);
  for (const child of groups) signalGroup(child, "SIGKILL");
}

function signalGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** Ctrl-C and SIGTERM end this script together with everything that it started. */
export function endWithChildren() {
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ]) {
    process.once(signal, () => {
      ending = true;
      void endAll().finally(() => process.exit(code));
    });
  }
}

/**
 * Runs a command in a process group of its own and resolves to `{code, output, timedOut}`.
 * `onText` gets the output as it comes. At `limitMs` the whole group is ended.
 */
export function run(command, args, { cwd, env, onText = () => {}, limitMs } = {}) {
  return new Promise((resolve, reject) => {
    // This process is about to exit: the caller must not continue with its next command.
    if (ending) return;
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.once("error", reject);
    if (child.pid === undefined) return;
    running.add(child);
    let output = "";
    let timedOut = false;
    const take = (text) => {
      output += text;
      onText(text);
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    const timer =
      limitMs === undefined
        ? undefined
        : setTimeout(() => {
            timedOut = true;
            signalGroup(child, "SIGTERM");
            setTimeout(() => signalGroup(child, "SIGKILL"), TIME_TO_END_MS).unref();
          }, limitMs);
    // A daemon that inherited the pipes would prevent "close" forever, so after "exit" the rest of the output has
    // two seconds.
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      const done = () => {
        running.delete(child);
        resolve({ code: code ?? (signal ? 128 : 1), output, timedOut });
      };
      const late = setTimeout(done, 2000);
      child.once("close", () => {
        clearTimeout(late);
        done();
      });
    });
  });
}

/** Like `run`, but a failure is an error with the end of the output. */
export async function must(command, args, options = {}) {
  const { code, output, timedOut } = await run(command, args, options);
  if (code !== 0) {
    const why = timedOut ? "ran past its time limit" : `ended with ${code}`;
    throw new Error(`${[command, ...args].join(" ")} ${why}:\n${output.slice(-4000)}`);
  }
  return output;
}

/** Tries a download three times, with a pause in between. */
export async function retry(what, action, log = console.log) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      if (attempt === 3) throw error;
      log(`${what} failed (try ${attempt} of 3), trying again: ${error.message}`);
      await pause(3000 * attempt);
    }
  }
}
