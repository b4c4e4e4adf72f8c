/** The editor's debugging: breakpoints, and sessions that begin as real ones do. */

import { Disposable, EventEmitter, type Uri } from "./vscode_values";

export class SourceBreakpoint {
  readonly condition?: string;
  readonly hitCondition?: string;
  readonly logMessage?: string;
  constructor(
    readonly location: { readonly uri: Uri; readonly range: { readonly start: { line: number } } },
    readonly enabled = true,
    more: { condition?: string; hitCondition?: string; logMessage?: string } = {},
  ) {
    Object.assign(this, more);
  }
}

export interface FakeSession {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly configuration: Record<string, unknown>;
}

interface ConfigurationProvider {
  provideDebugConfigurations?(
    folder: unknown,
  ): Promise<{ readonly name: string; readonly [attribute: string]: unknown }[]>;
  resolveDebugConfiguration?(
    folder: undefined,
    config: Record<string, unknown>,
  ): Promise<Record<string, unknown> | undefined>;
  resolveDebugConfigurationWithSubstitutedVariables?(
    folder: undefined,
    config: Record<string, unknown>,
  ): Promise<Record<string, unknown> | undefined>;
}

/** An adapter within the extension host, as far as tests look at it. */
interface DebugAdapter {
  handleMessage(message: object): void;
  onDidSendMessage(listener: (message: object) => void): Disposable;
}

/** Starts sessions as the editor does: through every provider, until one gives the configuration up. */
export class FakeDebug {
  providers: ConfigurationProvider[] = [];
  factory: { createDebugAdapterDescriptor(session: FakeSession): unknown } | undefined;
  trackers: { createDebugAdapterTracker(session: FakeSession): unknown }[] = [];
  sessions: FakeSession[] = [];
  activeDebugSession: FakeSession | undefined;
  activeStackItem: { session: FakeSession; frameId?: number } | undefined;
  readonly sessionChanged = new EventEmitter<FakeSession | undefined>();
  readonly itemChanged = new EventEmitter<FakeDebug["activeStackItem"]>();
  readonly onDidChangeActiveDebugSession = this.sessionChanged.event;
  readonly onDidChangeActiveStackItem = this.itemChanged.event;
  breakpoints: SourceBreakpoint[] = [];
  readonly breakpointsChanged = new EventEmitter<object>();
  readonly onDidChangeBreakpoints = this.breakpointsChanged.event;
  readonly started = new EventEmitter<FakeSession>();
  readonly ended = new EventEmitter<FakeSession>();
  readonly onDidStartDebugSession = this.started.event;
  readonly onDidTerminateDebugSession = this.ended.event;

  reset(): void {
    Object.assign(this, { providers: [], trackers: [], sessions: [], factory: undefined });
    this.breakpoints = [];
    this.activeDebugSession = undefined;
    this.activeStackItem = undefined;
  }
  /** As the gutter does. */
  setBreakpoints(...breakpoints: SourceBreakpoint[]): void {
    this.breakpoints = breakpoints;
    this.breakpointsChanged.fire({});
  }
  removeBreakpoints(removed: readonly SourceBreakpoint[]): void {
    this.setBreakpoints(...this.breakpoints.filter((each) => !removed.includes(each)));
  }
  /** The editor looks at a session, and at a frame of it where it stands. */
  lookAt(session: FakeSession, stands: boolean): void {
    this.activeDebugSession = session;
    this.activeStackItem = stands ? { session, frameId: 1 } : { session };
    this.sessionChanged.fire(session);
    this.itemChanged.fire(this.activeStackItem);
  }
  registerDebugConfigurationProvider(_type: string, provider: ConfigurationProvider): Disposable {
    this.providers.push(provider);
    return new Disposable(() => undefined);
  }
  /** The names in the editor's list of what can be started, which it asks for each folder and without one. */
  async offered(...folders: readonly unknown[]): Promise<string[]> {
    const names: string[] = [];
    for (const folder of [...folders, undefined]) {
      for (const provider of this.providers) {
        const offered = (await provider.provideDebugConfigurations?.(folder)) ?? [];
        names.push(...offered.map(({ name }) => name));
      }
    }
    return names;
  }
  registerDebugAdapterDescriptorFactory(_type: string, factory: FakeDebug["factory"]): Disposable {
    this.factory = factory;
    return new Disposable(() => undefined);
  }
  registerDebugAdapterTrackerFactory(
    _type: string,
    factory: FakeDebug["trackers"][number],
  ): Disposable {
    this.trackers.push(factory);
    return new Disposable(() => undefined);
  }
  async startDebugging(_folder: unknown, given: Record<string, unknown>): Promise<boolean> {
    let config: Record<string, unknown> | undefined = given;
    for (const provider of this.providers) {
      config = provider.resolveDebugConfiguration
        ? await provider.resolveDebugConfiguration(undefined, config)
        : config;
      if (config === undefined) {
        return false;
      }
    }
    for (const provider of this.providers) {
      config = provider.resolveDebugConfigurationWithSubstitutedVariables
        ? await provider.resolveDebugConfigurationWithSubstitutedVariables(undefined, config)
        : config;
      if (config === undefined) {
        return false;
      }
    }
    const id = String(this.sessions.length + 1);
    const name = String(config["name"]);
    const session = { id, type: "eagleray", name, configuration: config };
    this.sessions.push(session);
    this.activeDebugSession = session;
    this.started.fire(session);
    return true;
  }
}

export const debug = new FakeDebug();
export const DebugConfigurationProviderTriggerKind = { Initial: 1, Dynamic: 2 };
export class DebugAdapterInlineImplementation {
  constructor(readonly implementation: DebugAdapter) {}
}
export class DebugAdapterNamedPipeServer {
  constructor(readonly path: string) {}
}
