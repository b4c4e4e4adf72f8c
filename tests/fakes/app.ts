import type { ListedServer } from "../../extension/rollouts/servers/messages";
import type { ExtensionContext, LogOutputChannel } from "vscode";

import { asEaglerayError } from "../../extension/common/errors";
import { Store } from "../../extension/common/store";
import type { NotificationMethod, RequestMethod } from "../../extension/common/wire";
import { ErrorMessages } from "../../extension/error_messages";
import { Selection, Panel } from "../../extension/panel";
import type { App } from "../../extension/app";
import type { RequestOptions, Sidecar, SidecarState } from "../../extension/sidecar/sidecar";
import { SidecarLists } from "../../extension/sidecar_lists";
import { FakeChannel, Uri } from "./vscode";

export interface Sent {
  readonly method: string;
  readonly params: object;
}

/** Records what was sent; `answers` holds per method what comes back, or what is thrown. */
export class FakeSidecar implements Sidecar {
  readonly state = new Store<SidecarState>("ready");
  readonly sent: Sent[] = [];
  readonly answers = new Map<string, (params: never, options: RequestOptions) => unknown>();
  starts = 0;
  restarts = 0;
  private readonly listeners = new Map<string, Set<(value: unknown) => void>>();
  private readonly startListeners = new Set<() => void>();

  on<P, R>(method: RequestMethod<P, R>, answer: (params: P, options: RequestOptions) => R): void {
    this.answers.set(method.method, answer);
  }

  async request<P extends object, R>(
    { method }: RequestMethod<P, R>,
    params: P,
    options: RequestOptions = {},
  ): Promise<R> {
    this.sent.push({ method, params });
    await Promise.resolve();
    const answer = this.answers.get(method);
    try {
      return (answer === undefined ? {} : await answer(params as never, options)) as R;
    } catch (error) {
      throw asEaglerayError(error);
    }
  }

  onNotification<V>({ method }: NotificationMethod<V>, listener: (value: V) => void): Listening {
    const listeners = this.listeners.get(method) ?? new Set();
    this.listeners.set(method, listeners);
    listeners.add(listener as (value: unknown) => void);
    return { dispose: () => listeners.delete(listener as (value: unknown) => void) };
  }

  onStarted(listener: () => void): Listening {
    this.startListeners.add(listener);
    return { dispose: () => this.startListeners.delete(listener) };
  }

  start(): Promise<void> {
    this.starts += 1;
    return Promise.resolve();
  }

  restart(): Promise<void> {
    this.restarts += 1;
    return Promise.resolve();
  }

  notify<V>({ method }: NotificationMethod<V>, value: V): void {
    for (const listener of this.listeners.get(method) ?? []) {
      listener(value);
    }
  }

  /** As after each start of a real one. */
  started(): void {
    for (const listener of this.startListeners) {
      listener();
    }
  }

  sentTo({ method }: { readonly method: string }): readonly object[] {
    return this.sent.filter((one) => one.method === method).map((one) => one.params);
  }
}

/** The variables of new terminals. */
class FakeVariables {
  persistent = true;
  description = "The eagleray command";
  readonly values = new Map<string, string>();
  /** The names that the editor has written to its disk. */
  readonly onDisk = new Set<string>();
  replace(name: string, value: string): void {
    this.values.set(name, value);
    if (this.persistent) {
      this.onDisk.add(name);
    }
  }
  delete(name: string): void {
    this.values.delete(name);
  }
}

interface Listening {
  dispose(): unknown;
}

class FakeMemento {
  private readonly values = new Map<string, unknown>();
  get(key: string): unknown {
    return this.values.get(key);
  }
  update(key: string, value: unknown): Promise<void> {
    this.values.set(key, value);
    return Promise.resolve();
  }
}

export class FakeSecrets {
  readonly values = new Map<string, string>();
  get(key: string): Promise<string | undefined> {
    return Promise.resolve(this.values.get(key));
  }
  store(key: string, value: string): Promise<void> {
    this.values.set(key, value);
    return Promise.resolve();
  }
  delete(key: string): Promise<void> {
    this.values.delete(key);
    return Promise.resolve();
  }
}

export interface FakeApp {
  readonly app: App;
  readonly sidecar: FakeSidecar;
  readonly lists: SidecarLists;
  readonly log: FakeChannel;
  readonly secrets: FakeSecrets;
  readonly terminalVariables: FakeVariables;
}

export function fakeApp(): FakeApp {
  const sidecar = new FakeSidecar();
  const log = new FakeChannel("Eagleray");
  const secrets = new FakeSecrets();
  const terminalVariables = new FakeVariables();
  const lists = new SidecarLists(sidecar, (line) => {
    log.warn(line);
  });
  const context = {
    secrets,
    environmentVariableCollection: terminalVariables,
    globalState: new FakeMemento(),
    workspaceState: new FakeMemento(),
    subscriptions: [],
    extensionPath: "/ext",
    extension: { packageJSON: { version: "1.2.3" } },
    extensionUri: Uri.file("/ext"),
  };
  const channel = log as unknown as LogOutputChannel;
  const app: App = {
    context: context as unknown as ExtensionContext,
    log: channel,
    sidecar,
    errors: new ErrorMessages(channel),
    clusters: lists.clusters,
    paused: lists.paused,
    runs: lists.runs,
    profiled: lists.profiled,
    broughtUp: new Store<ReadonlySet<string>>(new Set()),
    addedServers: new Store<readonly ListedServer[]>([]),
    serverVariables: new Store<Readonly<Record<string, string>>>({}),
    refresh: () => lists.refresh(),
    latestRuns: () => lists.latestRuns(),
    panel: new Panel(),
    selection: new Selection(),
  };
  return { app, sidecar, lists, log, secrets, terminalVariables };
}

/** Lets everything that is already due run; no time passes. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
