/** The server whose variables new terminals and launch configurations of this window get. */

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { workspaceFolder } from "../../workspace";
import type { Run } from "../../runs/messages";
import { VARIABLES } from "./messages";

const CHOSEN = "eagleray.server";
/** The newest run of a server is up while its state is one of these. */
const UP: readonly string[] = ["ready", "unhealthy"];

/** The name of the server that this window uses, "" for none; it may have ended. */
export function chosenServer({ context }: App): string {
  return context.workspaceState.get<string>(CHOSEN) ?? "";
}

type Variables = Readonly<Record<string, string>>;

/**
 * The name is kept in the workspace's state; the variables, of which one is a key, are in memory, in terminals and in the
 * private files of the runs that get them.
 * They are removed when the server ends.
 */
export class ChosenServer implements Disposable, vscode.DebugConfigurationProvider {
  private source = "";
  private reading: Promise<Variables> = Promise.resolve({});
  private readonly listening: Disposable;
  /** The variables in terminals, and the collection's description without them. */
  private shown: readonly (readonly [string, string])[] = [];
  private command: vscode.EnvironmentVariableCollection["description"];

  constructor(private readonly app: App) {
    this.listening = app.runs.onChanged(({ runs }) => {
      this.update(runs);
    });
  }

  dispose(): void {
    this.listening.dispose();
    this.show({});
  }

  get name(): string {
    return chosenServer(this.app);
  }

  /** "" for none. */
  async choose(name: string): Promise<void> {
    await this.app.context.workspaceState.update(CHOSEN, name);
    this.update(this.app.runs.value.runs);
    await this.reading;
  }

  /** For any debugger; variables of the configuration itself have priority. */
  async resolveDebugConfiguration(
    folder: vscode.WorkspaceFolder | undefined,
    config: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration> {
    const variables = config.request === "launch" ? await this.reading : {};
    if (Object.keys(variables).length === 0) {
      return config;
    }
    const { withVariables } = await import("./launch_variables.js");
    return await withVariables(config, variables, folder?.uri.fsPath ?? workspaceFolder());
  }

  private update(runs: readonly Run[]): void {
    const source = this.sourceOf(runs);
    if (source !== this.source) {
      this.source = source;
      this.reading = source === "" ? Promise.resolve({}) : this.read(this.name);
      void this.reading.then((variables) => {
        if (source === this.source) {
          this.show(variables);
        }
      });
    }
  }

  /** The source of the variables: a run that is up, or an address that was added; "" for nothing. */
  private sourceOf(runs: readonly Run[]): string {
    const name = this.name;
    const run = runs.find(({ server }) => server?.name === name);
    if (name === "" || run === undefined) {
      return name;
    }
    // A supervisor that adopts a server may have to open another port.
    const { state = "", url } = run.server ?? {};
    return UP.includes(state) ? `${name} ${run.id} ${url}` : "";
  }

  private async read(name: string): Promise<Variables> {
    try {
      return (await this.app.sidecar.request(VARIABLES, { name })).variables;
    } catch (error) {
      // It was removed, or the sidecar has just ended.
      this.app.log.info(`no variables of the server ${name}: ${String(error)}`);
      return {};
    }
  }

  /** In terminals of all folders, and of a window without one; their collection has the `eagleray` command, too. */
  private show(variables: Variables): void {
    this.app.serverVariables.set(variables);
    const collection = this.app.context.environmentVariableCollection;
    this.command ??= collection.description;
    for (const [name] of this.shown) {
      collection.delete(name);
    }
    this.shown = Object.entries(variables);
    // First: the editor writes a persistent collection to its disk, and one variable is a key.
    collection.persistent = this.shown.length === 0;
    for (const [name, value] of this.shown) {
      collection.replace(name, value);
    }
    collection.description = collection.persistent
      ? this.command
      : vscode.l10n.t("Variables of the server {0}", this.name);
  }
}
