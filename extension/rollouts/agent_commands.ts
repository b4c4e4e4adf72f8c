/** The commands about agents; read when the first of them is called. */

import { dirname } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { EaglerayError } from "../common/errors";
import { plain } from "../common/texts";
import { longWork } from "../dialogs";
import { windowName } from "../workspace";
import { chosenServer } from "./servers/chosen_server";
import { LIST, type ListedServer } from "./servers/messages";
import { gutterBreakpoints } from "../runs/gutter_breakpoints";
import { programPython } from "../runs/interpreters";
import type { RunStarter } from "../runs/run_starter";
import { isAgent, targetOf, type AgentRef, type ChosenData } from "./agent_model";
import { chooseFile, chooseItem, type DataPlace } from "./data_choice";
import { runIntegrationTest } from "./integration_test";
import { AGENTS, DEBUG_AGENT } from "./messages";
import { classArguments, runOptions } from "./run_options";
import { showWave, type WaveActions, type WavePlan } from "./wave_panel";

/** The states in which a server may answer. */
const LIVE: readonly ListedServer["state"][] = ["starting", "ready", "unhealthy"];

export class AgentCommands {
  constructor(
    private readonly app: App,
    private readonly starting: () => Promise<RunStarter>,
    private readonly openTrace: WaveActions["openTrace"],
    /** The lines above agents have the size of a wave. */
    private readonly drawLenses: () => void,
  ) {}

  /** Debugs the agent of a line above an agent, or of the file in the editor. */
  async debug(args: readonly unknown[]): Promise<void> {
    const plan = await this.planned(args, chooseItem);
    if (plan !== undefined) {
      await this.debugItem(plan, plan.data.number);
    }
  }

  /** Runs all items of a file in groups; a tab shows the wave. */
  async wave(args: readonly unknown[]): Promise<void> {
    const plan = await this.planned(args, chooseFile);
    if (plan !== undefined) {
      await vscode.workspace.saveAll(false);
      showWave(this.app, plan, {
        openTrace: this.openTrace,
        debugItem: (of, item) => this.debugItem(of, item),
      });
    }
  }

  /** Through the rollout controller of AReaL, in a terminal. */
  async integrate(args: readonly unknown[]): Promise<void> {
    const agent = isAgent(args[0]) ? args[0] : await this.agentInView();
    if (agent !== undefined) {
      await runIntegrationTest(this.app, agent, await this.placeOf(agent));
    }
  }

  private async planned(
    args: readonly unknown[],
    choose: (app: App, place: DataPlace, target: string) => Promise<ChosenData | undefined>,
  ): Promise<WavePlan | undefined> {
    const agent = isAgent(args[0]) ? args[0] : await this.agentInView();
    if (agent === undefined) {
      return undefined;
    }
    const place = await this.placeOf(agent);
    const target = targetOf(agent);
    const data = await choose(this.app, place, target);
    this.drawLenses();
    const server = data && (await this.server());
    return data === undefined || server === undefined
      ? undefined
      : {
          ...{ agent, place, data, server, options: runOptions(this.app) },
          arguments: classArguments(this.app, target),
        };
  }

  private async debugItem(plan: WavePlan, number: number): Promise<void> {
    const { agent, place, data, server, options: chosen } = plan;
    // The sidecar reads the lines of breakpoints from the saved files.
    await vscode.workspace.saveAll(false);
    const { run } = await longWork(vscode.l10n.t("Starting {0}", plain(agent.name)), (options) => {
      const request = {
        ...{ target: targetOf(agent), data: data.path, number, server },
        ...{ mode: chosen.mode, arguments: plan.arguments },
        ...{ ...place, workspace: windowName(), breakpoints: gutterBreakpoints() },
      };
      return this.app.sidecar.request(DEBUG_AGENT, request, options);
    });
    await (await this.starting()).show(run);
  }

  private async placeOf({ path }: AgentRef): Promise<DataPlace> {
    const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(path))?.uri.fsPath;
    const cwd = folder ?? dirname(path);
    return { cwd, python: (await programPython(this.app, { path, cwd })).path };
  }

  private async agentInView(): Promise<AgentRef | undefined> {
    const document = vscode.window.activeTextEditor?.document;
    const classes =
      document?.uri.scheme === "file"
        ? (await this.app.sidecar.request(AGENTS, { text: document.getText() })).classes
        : null;
    const [first] = classes ?? [];
    if (document === undefined || classes === null || first === undefined) {
      throw new EaglerayError(
        "no-agent",
        vscode.l10n.t("The file in the editor has no agent."),
        vscode.l10n.t("Open one that has a class with “async def run(self, data, **kwargs)”."),
      );
    }
    const items = classes.map(({ name }) => ({ label: name }));
    const title = vscode.l10n.t("Select an agent");
    const name =
      items.length === 1
        ? first.name
        : (await vscode.window.showQuickPick(items, { title }))?.label;
    return name === undefined ? undefined : { path: document.uri.fsPath, name };
  }

  /**
   * The name or address of the inference server:
   *
   * 1. the one that the window uses, while it may answer;
   * 2. the only one;
   * 3. the one that the user selects, or the address that the user enters.
   */
  private async server(): Promise<string | undefined> {
    const { servers } = await this.app.sidecar.request(LIST, {});
    const live = servers.filter(({ state }) => LIVE.includes(state));
    const used = chosenServer(this.app);
    const [first] = live;
    if (live.some(({ name }) => name === used)) {
      return used;
    }
    if (first !== undefined && live.length === 1) {
      return first.name;
    }
    const other = { label: vscode.l10n.t("Other Address…"), description: "", name: "" };
    const items = live.map(({ name, url }) => ({ label: name, description: plain(url), name }));
    const picked = await vscode.window.showQuickPick([...items, other], {
      title: vscode.l10n.t("Select the inference server of the agent"),
    });
    return picked === other ? await enteredAddress() : picked?.name;
  }
}

async function enteredAddress(): Promise<string | undefined> {
  const typed = await vscode.window.showInputBox({
    title: vscode.l10n.t("Enter the address of the inference server"),
    prompt: vscode.l10n.t(
      "Its key is OPENAI_API_KEY. Add a server with another key by “Start Server…”.",
    ),
    value: "http://127.0.0.1:8000/v1",
    ignoreFocusOut: true,
  });
  return typed?.trim() === "" ? undefined : typed?.trim();
}
