/** The commands of inference servers; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { EaglerayError } from "../../common/errors";
import { plain, shortened, type Verbatim } from "../../common/texts";
import { longWork } from "../../dialogs";
import type { Row } from "../../panel";
import { windowName, workspaceFolder } from "../../workspace";
import type { ChosenServer } from "./chosen_server";
import { LIST, START, VARIABLES, type ListedServer } from "./messages";

const LAST_COMMAND = "eagleray.serverCommand";
/** What a user completes with a model; the first word names the engine. */
const TEMPLATES: readonly (readonly [engine: Verbatim, command: Verbatim])[] = [
  ["vLLM", "vllm serve MODEL"],
  ["SGLang", "python -m sglang.launch_server --model-path MODEL"],
  ["llama.cpp", "llama-server --model MODEL.gguf"],
  ["Transformers", "transformers serve MODEL"],
];
const LONGEST_LABEL = 80;

export class ServerCommands {
  constructor(
    private readonly app: App,
    private readonly chosen: ChosenServer,
  ) {}

  /** The name of the started server, which new terminals and launch configurations use from then on. */
  async start(): Promise<string | undefined> {
    const command = await this.askForCommand();
    if (command === undefined) {
      return undefined;
    }
    await this.app.context.workspaceState.update(LAST_COMMAND, command);
    const title = vscode.l10n.t("Starting the server");
    const started = await longWork(title, () =>
      this.app.sidecar.request(START, {
        command,
        cwd: workspaceFolder(),
        workspace: windowName(),
      }),
    );
    await this.app.latestRuns();
    await this.chosen.choose(started.name);
    return started.name;
  }

  /** Of the row, or of the list; the chosen one can be given up there, too. */
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

  private async askForCommand(): Promise<string | undefined> {
    const last = this.app.context.workspaceState.get<string>(LAST_COMMAND) ?? "";
    const items = [
      ...(last === ""
        ? []
        : [
            {
              label: shortened(plain(last, 1000), LONGEST_LABEL),
              description: vscode.l10n.t("last command"),
              value: last,
            },
          ]),
      ...TEMPLATES.map(([engine, value]) => ({ label: engine, description: value, value })),
      { label: vscode.l10n.t("Other Command…"), description: "", value: "" },
    ];
    const picked = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t("Select the engine of the server"),
    });
    if (picked === undefined) {
      return undefined;
    }
    const at = picked.value.indexOf("MODEL");
    const command = await vscode.window.showInputBox({
      title: vscode.l10n.t("Enter the command of the server"),
      prompt: vscode.l10n.t("Eagleray adds a local address and a key."),
      value: picked.value,
      ...(at < 0 ? {} : { valueSelection: [at, at + "MODEL".length] as [number, number] }),
      ignoreFocusOut: true,
    });
    return command?.trim() === "" ? undefined : command?.trim();
  }

  private async pick(): Promise<string | undefined> {
    const servers = await this.servers();
    if (servers.length === 0) {
      throw new EaglerayError("no-server", vscode.l10n.t("No inference server is running."));
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
    if (row.row === "run" && row.run.server !== null) {
      return row.run.server.name;
    }
  }
  return undefined;
}

/** For a shell; keys and URLs need no quotes, and the value of an added server could have anything in it. */
function quoted(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'"'"'`)}'`;
}
