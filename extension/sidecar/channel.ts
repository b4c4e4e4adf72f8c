/** JSON-RPC with the sidecar process; the only module that imports vscode-jsonrpc. */

import { randomUUID } from "node:crypto";

import type { CancellationToken } from "vscode";
import {
  createMessageConnection,
  ProgressType,
  StreamMessageReader,
  StreamMessageWriter,
  type MessageConnection,
} from "vscode-jsonrpc/node";

import { answerError, progressOf } from "./answers";
import type { Launch } from "./launch";
import { SidecarProcess } from "./processes";
import type { Channel, ChannelListener, RequestOptions } from "./sidecar";

/** How long the process may take to answer the request to end. */
const END_TIME_LIMIT_MS = 3_000;
/** A Python on a network file system may take long to read its libraries for the first time. */
const HANDSHAKE_LIMIT_MS = 120_000;

/**
 * Starts the process and initializes the connection with these params, unless `ending` aborts first; rejects with an
 * error of the catalogue.
 */
export async function openChannel(
  launch: Launch,
  params: object,
  methods: readonly string[],
  listener: ChannelListener,
  log: (line: string) => void,
  ending: AbortSignal,
): Promise<Channel> {
  const sidecar = new SidecarProcess(launch, log);
  const initialized = async (): Promise<Channel> => {
    const { reader, writer } = await sidecar.streams();
    const connection = createMessageConnection(
      new StreamMessageReader(reader),
      new StreamMessageWriter(writer),
    );
    const channel = new JsonRpcChannel(connection, sidecar, listener, log);
    for (const method of methods) {
      channel.listen(method);
    }
    await channel.initialize(params);
    return channel;
  };
  return sidecar.answering(initialized(), HANDSHAKE_LIMIT_MS, ending);
}

class JsonRpcChannel implements Channel {
  private readonly listening = new Set<string>();
  private isEnding = false;

  constructor(
    private readonly connection: MessageConnection,
    private readonly sidecar: SidecarProcess,
    private readonly listener: ChannelListener,
    log: (line: string) => void,
  ) {
    connection.onError(([error]) => {
      log(`connection: ${error.message}`);
    });
    connection.onClose(() => {
      // Rejects the requests that wait for an answer.
      connection.dispose();
      // We start it again ourselves, with a back-off.
      if (!this.isEnding) {
        listener.closed(sidecar.ending);
      }
    });
  }

  async initialize(params: object): Promise<void> {
    this.connection.listen();
    await this.connection.sendRequest("initialize", params);
    await this.connection.sendNotification("initialized", {});
  }

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
      this.connection.onNotification(method, (value) => {
        this.listener.notified(method, value);
      });
    }
  }

  async close(): Promise<void> {
    this.isEnding = true;
    // A process that does not answer the request is ended all the same.
    await Promise.race([this.end(), elapsed(END_TIME_LIMIT_MS)]).catch(() => undefined);
    await this.sidecar.end();
    this.connection.dispose();
  }

  private async end(): Promise<void> {
    await this.connection.sendRequest("shutdown");
    await this.connection.sendNotification("exit");
  }

  private send(
    method: string,
    params: object,
    cancel: CancellationToken | undefined,
  ): Promise<unknown> {
    return cancel === undefined
      ? this.connection.sendRequest(method, params)
      : this.connection.sendRequest(method, params, cancel);
  }

  private async sendReporting(
    method: string,
    params: object,
    onProgress: NonNullable<RequestOptions["onProgress"]>,
    cancel: CancellationToken | undefined,
  ): Promise<unknown> {
    const workDoneToken = randomUUID();
    const reports = this.connection.onProgress(new ProgressType(), workDoneToken, (value) => {
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

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
