/** Processes that the extension starts: the sidecar, and detached programs with a window of their own. */

import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import * as os from "node:os";
import * as readline from "node:readline";

import { sidecarNotStarted, sidecarSilent } from "../common/errors";
import type { Launch } from "./launch";
import type { Verbatim } from "../common/texts";

/** How long it may take to end after it was asked to. */
const END_TIME_LIMIT_MS = 3_000;
const LAST_LINES = 20;

/** Owns the child: its stderr goes to the log, line by line, and it ends with `end`. */
export class SidecarProcess {
  private readonly child: ChildProcess;
  private readonly exited: Promise<void>;
  private readonly last: string[] = [];
  private isSilent = false;
  ending: Verbatim = "its connection closed";
  /** Rejects when the process could not be started or has ended; never resolves. */
  readonly failed: Promise<never>;

  constructor(launch: Launch, log: (line: string) => void) {
    log(`starting ${[launch.command, ...launch.args].join(" ")}`);
    // Not in the workspace: nothing of it is to be imported or found by a relative name.
    const env = { ...process.env, ...launch.env };
    this.child = spawn(launch.command, launch.args, { cwd: os.homedir(), env, stdio: "pipe" });
    this.exited = new Promise((resolve) => {
      this.child.once("error", (error) => {
        this.ending = error.message;
        resolve();
      });
      this.child.once("exit", (code, signal) => {
        this.ending = signal === null ? `exit status ${code ?? "unknown"}` : `signal ${signal}`;
        log(`process ended: ${this.ending}`);
        resolve();
      });
    });
    this.failed = this.exited.then(() => {
      throw new Error(this.ending);
    });
    this.failed.catch(() => undefined);
    this.readErrors(log);
  }

  async streams(): Promise<{ reader: NodeJS.ReadableStream; writer: NodeJS.WritableStream }> {
    const { stdout, stdin, pid } = this.child;
    if (stdout === null || stdin === null || pid === undefined) {
      await this.failed;
      throw new Error(this.ending);
    }
    // Writing to a process that has just died is reported by its exit, not by this.
    stdin.on("error", () => undefined);
    return { reader: stdout, writer: stdin };
  }

  /**
   * Waits for the first answer of the process.  A process that ends before, that doesn't answer within `limitMs`, or
   * that `ending` cancels, is killed, and an error of the catalogue is thrown.
   */
  async answering<T>(answer: Promise<T>, limitMs: number, ending: AbortSignal): Promise<T> {
    const kill = (): void => {
      this.child.kill("SIGKILL");
    };
    const late = setTimeout(() => {
      this.isSilent = true;
      kill();
    }, limitMs);
    ending.addEventListener("abort", kill, { once: true });
    try {
      return await Promise.race([answer, this.failed]);
    } catch (error) {
      await this.end();
      const output = `${String(error)} ${this.last.join("\n")}`.trim();
      throw this.isSilent ? sidecarSilent(limitMs / 1000, output) : sidecarNotStarted(output);
    } finally {
      clearTimeout(late);
      ending.removeEventListener("abort", kill);
    }
  }

  async end(): Promise<void> {
    this.child.stdin?.end();
    const kill = setTimeout(() => this.child.kill("SIGKILL"), END_TIME_LIMIT_MS);
    await this.exited;
    clearTimeout(kill);
  }

  private readErrors(log: (line: string) => void): void {
    const { stderr } = this.child;
    if (stderr !== null) {
      readline.createInterface({ input: stderr }).on("line", (line) => {
        log(line);
        this.last.push(line);
        this.last.splice(0, this.last.length - LAST_LINES);
      });
    }
  }
}

/**
 * Starts one without a shell; its output goes into the file `log`.  `failed` is called when it could not be started, or when
 * it ended with an error.
 */
export function startDetached(
  program: string,
  args: readonly string[],
  log: string,
  failed: (how: Verbatim) => void,
): void {
  const logFile = openSync(log, "w", 0o600);
  try {
    const child = spawn(program, args, { detached: true, stdio: ["ignore", logFile, logFile] });
    child.once("error", ({ message }) => {
      failed(`could not be started: ${message}`);
    });
    child.once("exit", (code, signal) => {
      if (code !== 0) {
        failed(`ended with ${signal ?? String(code)}`);
      }
    });
    child.unref();
  } finally {
    closeSync(logFile);
  }
}
