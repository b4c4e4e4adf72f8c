/** The commands of inference servers; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { EaglerayError } from "../../common/errors";
import { quoted } from "../../common/shell";
import { plain } from "../../common/texts";
import { isConfirmed, longWork } from "../../dialogs";
import type { Row } from "../../rows";
import { windowName, workspaceFolder } from "../../workspace";
import type { AddedServers } from "./added_servers";
import type { ChosenServer } from "./chosen_server";
import { ADD, LIST, REMOVE, START, VARIABLES, type AddServer, type ListedServer } from "./messages";
import { askForPlace, askForServer } from "./start_questions";

const LAST_COMMAND = "eagleray.serverCommand";

export class ServerCommands {
  constructor(
    private readonly app: App,
    private readonly chosen: ChosenServer,
    private readonly added: AddedServers,
  ) {}

  /** The name of the started or added server, which new terminals and launch configurations use from then on. */
  async start(): Promise<string | undefined> {
    const last = this.app.context.workspaceState.get<string>(LAST_COMMAND) ?? "";
    const subject = await askForServer(last);
    if (subject === undefined) {
      return undefined;
    }
    const name =
      "url" in subject ? await this.add(subject) : await this.startCommand(subject.command);
    if (name !== undefined) {
      await this.chosen.choose(name);
    }
    return name;
  }

  private async startCommand(command: string): Promise<string | undefined> {
    await this.app.context.workspaceState.update(LAST_COMMAND, command);
    // SLURM decides where a script runs.
    const confirmed = /^sbatch\s/.test(command);
    const question = vscode.l10n.t("Submit the server to SLURM?");
    if (confirmed && !(await isConfirmed(question, command, vscode.l10n.t("Submit")))) {
      return undefined;
    }
    const place = confirmed ? {} : await askForPlace(this.app);
    if (place === undefined) {
      return undefined;
    }
    const title = vscode.l10n.t("Starting the server");
    const started = await longWork(title, () =>
      this.app.sidecar.request(START, {
        command,
        cwd: workspaceFolder(),
        workspace: windowName(),
        confirmed,
        ...place,
      }),
    );
    await this.app.latestRuns();
    return started.name;
  }

  private async add(subject: AddServer): Promise<string> {
    const added = await longWork(vscode.l10n.t("Requesting a token"), () =>
      this.app.sidecar.request(ADD, subject),
    );
    if (added.reason !== "") {
      void vscode.window.showWarningMessage(
        vscode.l10n.t("{0} was added. {1}", plain(added.name), plain(added.reason, 300)),
      );
    }
    await this.added.updated();
    return added.name;
  }

  /** Chooses the server of the row, or one of the list; the user can also give up the choice there. */
  async use(rows: readonly Row[]): Promise<void> {
    const given = serverOf(rows);
    if (given !== undefined) {
      await this.chosen.choose(given);
      this.say(given);
      return;
    }
    const none = { label: vscode.l10n.t("No Server"), description: "", name: "" };
    const items = (await this.servers()).map((server) => ({
      label: server.name,
      description: plain(`${server.url} ${server.model}`.trim()),
      name: server.name,
    }));
    const picked = await vscode.window.showQuickPick([...items, none], {
      title: vscode.l10n.t("Select a server for terminals and launch configurations"),
    });
    if (picked !== undefined) {
      await this.chosen.choose(picked.name);
      this.say(picked.name);
    }
  }

  /** Removes the server of the row, or one of a list; the server itself keeps running. */
  async remove(rows: readonly Row[]): Promise<void> {
    const isAdded = ({ run }: ListedServer): boolean => run === "";
    const name = serverOf(rows) ?? (await this.pick(isAdded));
    if (name === undefined) {
      return;
    }
    await this.app.sidecar.request(REMOVE, { name });
    if (this.chosen.name === name) {
      await this.chosen.choose("");
    }
    await this.added.updated();
  }

  async copy(rows: readonly Row[]): Promise<void> {
    const name = serverOf(rows) ?? (await this.pick());
    if (name === undefined) {
      return;
    }
    const { variables } = await this.app.sidecar.request(VARIABLES, { name });
    const lines = Object.entries(variables).map(
      ([variable, value]) => `export ${variable}=${quoted(value)}`,
    );
    await vscode.env.clipboard.writeText(`${lines.join("\n")}\n`);
    vscode.window.setStatusBarMessage(
      vscode.l10n.t("Copied the environment of {0}, with its key", plain(name)),
      6000,
    );
  }

  private async pick(
    fits: (server: ListedServer) => boolean = () => true,
  ): Promise<string | undefined> {
    const servers = (await this.servers()).filter(fits);
    if (servers.length === 0) {
      throw new EaglerayError("no-server", vscode.l10n.t("No inference server is listed."));
    }
    const picked = await vscode.window.showQuickPick(
      servers.map((server) => ({ label: server.name, description: plain(server.url) })),
      { title: vscode.l10n.t("Select a server") },
    );
    return picked?.label;
  }

  private async servers(): Promise<readonly ListedServer[]> {
    const { servers } = await this.app.sidecar.request(LIST, {});
    return servers.filter(({ state }) => state !== "stopped" && state !== "failed");
  }

  private say(name: string): void {
    const text =
      name === ""
        ? vscode.l10n.t("New terminals use no server")
        : vscode.l10n.t("New terminals and launch configurations use {0}", plain(name));
    vscode.window.setStatusBarMessage(text, 6000);
  }
}

function serverOf(rows: readonly Row[]): string | undefined {
  for (const row of rows) {
    if (row.row === "server") {
      return row.server.name;
    }
    if (row.row === "run" && row.run.server !== null) {
      return row.run.server.name;
    }
  }
  return undefined;
}
