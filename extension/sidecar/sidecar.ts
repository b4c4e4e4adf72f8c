/** The interface of the sidecar: requests, notifications and state. */

import type { CancellationToken } from "vscode";

import type { Disposable } from "../common/disposables";
import type { Readable } from "../common/store";
import type { NotificationMethod, RequestMethod } from "../common/wire";

export type SidecarState =
  | "idle" // not needed yet
  | "starting"
  | "ready"
  | "no-python"
  | "failed" // it ended or did not start; it is tried again after a while
  | "unsupported"; // this platform

/** A report of long work: a sentence, and how much is done where that is known. */
export interface Progress {
  readonly message?: string | undefined;
  readonly percentage?: number | undefined;
}

export interface RequestOptions {
  /** Cancels the request; it then rejects with the catalogue's "cancelled". */
  readonly cancel?: CancellationToken;
  readonly onProgress?: (progress: Progress) => void;
}

/**
 * The connection that all features share.  Listeners outlive restarts of the process.
 * Whatever `request` rejects with is an `EaglerayError` of the catalogue.
 */
export interface Sidecar {
  readonly state: Readable<SidecarState>;
  /** Sends a request; starts the process first if not needed yet. */
  request<P extends object, R>(
    method: RequestMethod<P, R>,
    params: P,
    options?: RequestOptions,
  ): Promise<R>;
  onNotification<V>(method: NotificationMethod<V>, listener: (value: V) => void): Disposable;
  /** Called after each start of the process, to send its settings again. */
  onStarted(listener: () => void): Disposable;
  /** Starts it if it does not run; does not reject. */
  start(): Promise<void>;
  restart(): Promise<void>;
}

/** One run of the process.  Whatever `request` rejects with is an error of the catalogue. */
export interface Channel {
  request(method: string, params: object, options: RequestOptions): Promise<unknown>;
  /** Passes notifications of `method` on to the listener that the channel was opened with. */
  listen(method: string): void;
  /** Ends the process and returns when it has ended. */
  close(): Promise<void>;
}

export interface ChannelListener {
  notified(method: string, value: unknown): void;
  /** The process ended without being asked to; called at most once. */
  closed(why: string): void;
}
