/** The connection to the sidecar: starts it on demand, restarts it after a crash, ends it with the extension. */

import { Backoff } from "../common/backoff";
import type { Disposable } from "../common/disposables";
import { asEaglerayError, EaglerayError, sidecarLost, unsupportedPlatform } from "../common/errors";
import { Store } from "../common/store";
import type { NotificationMethod, RequestMethod } from "../common/wire";
import type { SidecarPython } from "./interpreter";
import type { Channel, ChannelListener, RequestOptions, Sidecar, SidecarState } from "./sidecar";

/** The process and time as the connection uses them; tests pass their own. */
interface World {
  /** Starts the process; rejects with an error of the catalogue, and with anything once `ending` has given it up. */
  open(
    methods: readonly string[],
    listener: ChannelListener,
    ending: AbortSignal,
  ): Promise<Channel>;
  after(ms: number, run: () => void): Disposable;
  now(): number;
  log(line: string): void;
}

interface SidecarRun {
  readonly channel: Channel;
  readonly since: number;
  /** Rejects when the process is lost; never resolves. */
  readonly lost: Promise<never>;
}

/** Errors that a retry can't fix. */
const LASTING: Readonly<Record<string, SidecarState>> = {
  "no-python": "no-python",
  "unsupported-platform": "unsupported",
};

/** Owns the process.  Starts and restarts are serialized: calls meanwhile share the same one. */
export class SidecarConnection implements Sidecar, Disposable {
  readonly state = new Store<SidecarState>("idle");
  private readonly notifications = new Map<string, Set<(value: unknown) => void>>();
  private readonly started = new Set<() => void>();
  private readonly backoff = new Backoff();
  private run: SidecarRun | undefined;
  private starting: Promise<SidecarRun> | undefined;
  private ending = new AbortController();
  private restarting: Promise<void> | undefined;
  private retry: Disposable | undefined;
  private ended = false;

  constructor(private readonly world: World) {}

  async request<P extends object, R>(
    method: RequestMethod<P, R>,
    params: P,
    options: RequestOptions = {},
  ): Promise<R> {
    const run = await this.running();
    const answer = run.channel.request(method.method, params, options);
    return (await Promise.race([answer, run.lost])) as R;
  }

  onNotification<V>(method: NotificationMethod<V>, listener: (value: V) => void): Disposable {
    const own = (value: unknown): void => {
      listener(value as V);
    };
    const registered = this.notifications.get(method.method);
    const listeners = registered ?? new Set();
    listeners.add(own);
    if (registered === undefined) {
      this.notifications.set(method.method, listeners);
      this.run?.channel.listen(method.method);
    }
    return { dispose: () => listeners.delete(own) };
  }

  onStarted(listener: () => void): Disposable {
    const own = (): void => {
      listener();
    };
    this.started.add(own);
    return { dispose: () => this.started.delete(own) };
  }

  async start(): Promise<void> {
    // A failed start shows in `state` and in the log; requests reject with its error.
    await this.running().catch(() => undefined);
  }

  restart(): Promise<void> {
    this.restarting ??= this.stopAndStart().finally(() => {
      this.restarting = undefined;
    });
    return this.restarting;
  }

  /** Ends the process; the editor waits for this when it closes. */
  async dispose(): Promise<void> {
    this.ended = true;
    await this.stop();
  }

  private async stopAndStart(): Promise<void> {
    this.world.log("restart asked for");
    this.backoff.reset();
    await this.stop();
    await this.start();
  }

  private async stop(): Promise<void> {
    this.retry?.dispose();
    // A process that hangs during its start would never end otherwise.
    this.ending.abort();
    await this.starting?.catch(() => undefined);
    const run = this.run;
    this.run = undefined;
    await run?.channel.close();
  }

  private running(): Promise<SidecarRun> {
    if (this.ended) {
      return Promise.reject(sidecarLost());
    }
    if (this.run !== undefined) {
      return Promise.resolve(this.run);
    }
    this.starting ??= this.open().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  private async open(): Promise<SidecarRun> {
    this.retry?.dispose();
    this.state.set("starting");
    const since = this.world.now();
    this.ending = new AbortController();
    const { signal } = this.ending;
    let lose: (why: string) => void = () => undefined;
    const lost = new Promise<never>((_, reject) => {
      lose = (why) => {
        reject(sidecarLost());
        this.lost(channel, since, why);
      };
    });
    // There may be no request that waits for it.
    lost.catch(() => undefined);
    let channel: Channel | undefined;
    try {
      const listener: ChannelListener = {
        notified: (method, value) => {
          this.notified(method, value);
        },
        closed: (why) => {
          lose(why);
        },
      };
      channel = await this.world.open([...this.notifications.keys()], listener, signal);
    } catch (error) {
      throw signal.aborted ? sidecarLost() : this.notOpened(error, since);
    }
    const run = { channel, since, lost };
    this.run = run;
    for (const method of this.notifications.keys()) {
      channel.listen(method);
    }
    this.world.log(`ready after ${this.world.now() - since} ms`);
    this.state.set("ready");
    for (const listener of [...this.started]) {
      listener();
    }
    return run;
  }

  private notOpened(error: unknown, since: number): EaglerayError {
    const problem = asEaglerayError(error);
    this.world.log(`not started: ${problem.sentence} ${problem.detail}`);
    const lasting = LASTING[problem.code];
    if (lasting === undefined) {
      this.startLater(this.world.now() - since);
    }
    this.state.set(lasting ?? "failed");
    return problem;
  }

  private lost(channel: Channel | undefined, since: number, why: string): void {
    // One that ends while it starts rejects `open`; one that was replaced is of no interest.
    if (channel === undefined || this.run?.channel !== channel || this.ended) {
      return;
    }
    this.world.log(`ended: ${why}`);
    this.run = undefined;
    this.startLater(this.world.now() - since);
    this.state.set("failed");
  }

  private startLater(ranMs: number): void {
    if (this.ended) {
      return;
    }
    const wait = this.backoff.next(ranMs);
    this.world.log(`started again in ${wait} ms`);
    this.retry?.dispose();
    this.retry = this.world.after(wait, () => void this.start());
  }

  private notified(method: string, value: unknown): void {
    for (const listener of [...(this.notifications.get(method) ?? [])]) {
      listener(value);
    }
  }
}

/** The real process and the real time; `chosen` is called with the Python that was chosen, before the process starts. */
export function realWorld(
  extensionFolder: string,
  log: (line: string) => void,
  chosen: (python: SidecarPython) => void,
): World {
  return {
    open: async (methods, listener, ending) => {
      if (process.platform === "win32") {
        throw unsupportedPlatform();
      }
      // Imported here, so that an idle extension doesn't read it.
      const { openSidecar } = await import("./startup.js");
      return openSidecar(extensionFolder, methods, listener, log, chosen, ending);
    },
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return {
        dispose: () => {
          clearTimeout(timer);
        },
      };
    },
    now: () => Date.now(),
    log,
  };
}
