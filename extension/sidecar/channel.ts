/** JSON-RPC with the sidecar process; the only module that imports vscode-languageclient. */

import { randomUUID } from "node:crypto";

import type { CancellationToken } from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  ProgressType,
  type LanguageClientOptions,
} from "vscode-languageclient/node";

import { answerError, progressOf } from "./answers";
import type { Launch } from "./launch";
import { SidecarProcess } from "./processes";
import type { Channel, ChannelListener, RequestOptions } from "./sidecar";

/** How long the process may take to end after it was asked to. */
const END_TIME_LIMIT_MS = 3_000;
/** A Python on a network file system may take long to read its libraries for the first time. */
const HANDSHAKE_LIMIT_MS = 120_000;

/** Starts the process and initializes the connection, unless `ending` aborts first; rejects with an error of the catalogue. */
export async function openChannel(
  launch: Launch,
  initializationOptions: object,
  methods: readonly string[],
  listener: ChannelListener,
  log: (line: string) => void,
  ending: AbortSignal,
): Promise<Channel> {
  const sidecar = new SidecarProcess(launch, log);
  const client = new QuietClient(
    "eagleray",
    "Eagleray",
    () => sidecar.streams(),
    clientOptions(initializationOptions, log, listener, sidecar),
  );
  const channel = new ClientChannel(client, sidecar, listener);
  for (const method of methods) {
    channel.listen(method);
  }
  await sidecar.answering(client.start(), HANDSHAKE_LIMIT_MS, ending);
  return channel;
}

/** Eagleray shows its own errors, once and with the next step; the client's only go to the log. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
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
    // A trace would show the params of requests, passphrases among them: a setting that isn't
    // contributed (`eagleray.trace.server`) must not put them into a log.
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
