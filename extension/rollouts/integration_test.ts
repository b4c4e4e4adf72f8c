/** “Run Integration Test…”: `eagleray agent integrate` of an agent with AReaL, in a terminal of the user. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { quoted } from "../common/shell";
import { plain } from "../common/texts";
import { askForPath } from "../typed_paths";
import { targetOf, type AgentRef } from "./agent_model";
import type { DataPlace } from "./data_choice";

/** The key of the workspace's state under which the last files are stored. */
const LAST = "eagleray.integrationTest";

interface TestFiles {
  readonly config: string;
  readonly data: string;
}

/** Asks for the files and starts the command; it stays in the terminal, to be changed and repeated. */
export async function runIntegrationTest(
  app: App,
  agent: AgentRef,
  { cwd, python }: DataPlace,
): Promise<void> {
  const files = await chosenFiles(app, cwd);
  if (files === undefined) {
    return;
  }
  await vscode.workspace.saveAll(false);
  const terminal = vscode.window.createTerminal({ name: plain(`AReaL ${agent.name}`), cwd });
  const interpreter = python === "" ? [] : ["--python", python];
  const argv = [
    ...["eagleray", "agent", "integrate", targetOf(agent)],
    ...["--config", files.config, "--data", files.data, ...interpreter],
  ];
  terminal.show();
  terminal.sendText(argv.map(quoted).join(" "));
}

/** The dialogs begin where the last files are. */
async function chosenFiles(app: App, cwd: string): Promise<TestFiles | undefined> {
  const { workspaceState } = app.context;
  const last = workspaceState.get<TestFiles>(LAST);
  const config = await selected(
    vscode.l10n.t("Select the Configuration of the Training"),
    last?.config ?? cwd,
    { YAML: ["yaml", "yml"] },
  );
  const data =
    config === undefined
      ? undefined
      : await selected(
          vscode.l10n.t("Select Data for {0}", plain(basename(config))),
          last?.data ?? cwd,
          { [vscode.l10n.t("Data")]: ["jsonl", "ndjson", "json"] },
        );
  if (config === undefined || data === undefined) {
    return undefined;
  }
  const files = { config, data };
  await workspaceState.update(LAST, files);
  return files;
}

async function selected(
  title: string,
  start: string,
  filters: Record<string, string[]>,
): Promise<string | undefined> {
  return await askForPath({ title, kind: "file", start, filters });
}
