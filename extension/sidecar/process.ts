/** The sidecar's process, and JSON-RPC with it: the only place that knows vscode-languageclient. */

import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import * as os from "node:os";
import * as readline from "node:readline";

import type { CancellationToken } from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  ProgressType,
  type LanguageClientOptions,
} from "vscode-languageclient/node";

import { sidecarNotStarted } from "../common/errors";
import { answerError } from "./answer_errors";
import { progressOf, type Channel, type ChannelListener } from "./connection";
import type { Launch } from "./launch";
import type { RequestOptions } from "./sidecar";

/** How long the process may take to end after it was asked to. */
const END_TIME_LIMIT_MS = 3_000;
/** A Python on a network file system may take long to read its libraries for the first time. */
const HANDSHAKE_LIMIT_MS = 120_000;
const LAST_LINES = 20;

/** Starts the process and shakes hands with it; rejects with an error of the catalogue. */
export async function openChannel(
  launch: Launch,
  initializationOptions: object,
  methods: readonly string[],
  listener: ChannelListener,
  log: (line: string) => void,
): Promise<Channel> {
  const sidecar = new SidecarProcess(launch, log);
  const client = new LanguageClient(
    "eagleray",
    "Eagleray",
    () => sidecar.streams(),
    clientOptions(initializationOptions, log, listener, sidecar),
  );
  const channel = new ClientChannel(client, sidecar, listener);
  for (const method of methods) {
    channel.listen(method);
  }
  const late = setTimeout(() => {
    sidecar.giveUp(`it did not answer within ${HANDSHAKE_LIMIT_MS / 1000} s`);
  }, HANDSHAKE_LIMIT_MS);
  try {
    await Promise.race([client.start(), sidecar.failed]);
  } catch (error) {
    await sidecar.end();
    throw sidecarNotStarted(`${String(error)} ${sidecar.lastLines}`);
  } finally {
    clearTimeout(late);
  }
  return channel;
}

function clientOptions(
  initializationOptions: object,
  log: (line: string) => void,
  listener: ChannelListener,
  sidecar: SidecarProcess,
): LanguageClientOptions {
  return {
    documentSelector: [],
    initializationOptions,
    outputChannel: quietChannel(log),
    // What a trace would show are the params of requests, passphrases among them: a setting that nobody
    // contributes (`eagleray.trace.server`) must not bring them into a log.
    traceOutputChannel: quietChannel(() => undefined),
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      // We start it again ourselves, with a back-off.
      closed: () => {
        listener.closed(sidecar.ending);
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
  };
}

class ClientChannel implements Channel {
  private readonly listening = new Set<string>();

  constructor(
    private readonly client: LanguageClient,
    private readonly sidecar: SidecarProcess,
    private readonly listener: ChannelListener,
  ) {}

  async request(method: string, params: object, options: RequestOptions): Promise<unknown> {
    const { cancel, onProgress } = options;
    try {
      if (onProgress === undefined) {
        return await this.send(method, params, cancel);
      }
      return await this.sendReporting(method, params, onProgress, cancel);
    } catch (error) {
      throw answerError(error);
    }
  }

  listen(method: string): void {
    if (!this.listening.has(method)) {
      this.listening.add(method);
      this.client.onNotification(method, (value) => {
        this.listener.notified(method, value);
      });
    }
  }

  async close(): Promise<void> {
    // A process that does not answer the shutdown request is ended all the same.
    await this.client.stop(END_TIME_LIMIT_MS).catch(() => undefined);
    await this.sidecar.end();
  }

  private send(
    method: string,
    params: object,
    cancel: CancellationToken | undefined,
  ): Promise<unknown> {
    return cancel === undefined
      ? this.client.sendRequest(method, params)
      : this.client.sendRequest(method, params, cancel);
  }

  private async sendReporting(
    method: string,
    params: object,
    onProgress: NonNullable<RequestOptions["onProgress"]>,
    cancel: CancellationToken | undefined,
  ): Promise<unknown> {
    const workDoneToken = randomUUID();
    const reports = this.client.onProgress(new ProgressType(), workDoneToken, (value) => {
      const progress = progressOf(value);
      if (progress !== undefined) {
        onProgress(progress);
      }
    });
    try {
      return await this.send(method, { ...params, workDoneToken }, cancel);
    } finally {
      reports.dispose();
    }
  }
}

/** Owns the child: its stderr goes to the log, line by line, and it ends with `end`. */
class SidecarProcess {
  private readonly child: ChildProcess;
  private readonly exited: Promise<void>;
  private readonly last: string[] = [];
  ending = "its connection closed";
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

  /** `detached`, since it is ours to end, not the language client's. */
  async streams(): Promise<{
    reader: NodeJS.ReadableStream;
    writer: NodeJS.WritableStream;
    detached: boolean;
  }> {
    const { stdout, stdin, pid } = this.child;
    if (stdout === null || stdin === null || pid === undefined) {
      await this.failed;
      throw new Error(this.ending);
    }
    // Writing to a process that has just died is reported by its exit, not by this.
    stdin.on("error", () => undefined);
    return { reader: stdout, writer: stdin, detached: true };
  }

  get lastLines(): string {
    return this.last.join("\n");
  }

  giveUp(why: string): void {
    this.last.push(why);
    this.child.kill("SIGKILL");
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

/** The language client's own lines in our log; it must not open or clear that. */
function quietChannel(
  log: (line: string) => void,
): NonNullable<LanguageClientOptions["outputChannel"]> {
  const line = (text: string): void => {
    log(text.trimEnd());
  };
  const nothing = (): void => undefined;
  return {
    name: "Eagleray",
    append: line,
    appendLine: line,
    replace: line,
    clear: nothing,
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- The interface asks for it; never called.
    show: nothing,
    hide: nothing,
    dispose: nothing,
  };
}
