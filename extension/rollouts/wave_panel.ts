/** The tabs of waves: each runs one, shows its progress and its end, and runs it again. */

import { randomUUID } from "node:crypto";
import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { asEaglerayError } from "../common/errors";
import { plain } from "../common/texts";
import { PageTab, type PageKind } from "../page/tabs";
import { openSourceLine } from "../observe/hangs/source_line";
import { targetOf, type AgentRef, type ChosenData } from "./agent_model";
import type { DataPlace } from "./data_choice";
import { CANCEL_WAVE, WAVE, WAVE_CHANGED, type WaveProgress } from "./messages";
import { sizeText, type RunOptions } from "./run_options";
import type { FromWavePage, ToWavePage } from "./wave_messages";

/** A wave ends with its window, so that its tab isn't restored. */
const PANEL = "eagleray.wave";
const PAGE: PageKind = { script: "wave_page", doing: "the page of a wave", draws: "wave" };

/** The agent and its inputs. */
export interface WavePlan {
  readonly agent: AgentRef;
  readonly place: DataPlace;
  readonly data: ChosenData;
  readonly server: string;
  readonly options: RunOptions;
  /** Arguments of the class: a JSON object, "" for none. */
  readonly arguments: string;
}

/** The actions of other parts for the page. */
export interface WaveActions {
  readonly openTrace: (path: string, item: number, title: string) => Promise<void>;
  readonly debugItem: (plan: WavePlan, item: number) => Promise<void>;
}

export function showWave(app: App, plan: WavePlan, actions: WaveActions): void {
  const title = titleOf(plan);
  const column = vscode.ViewColumn.Active;
  const panel = vscode.window.createWebviewPanel(PANEL, title, column, {
    enableFindWidget: true,
    // A hidden page would lose the progress of its wave.
    retainContextWhenHidden: true,
  });
  new WaveTab(app, panel, plan, actions);
}

class WaveTab extends PageTab<FromWavePage, ToWavePage> {
  private ending = new vscode.CancellationTokenSource();
  private wave = "";
  private trace = "";

  constructor(
    app: App,
    panel: vscode.WebviewPanel,
    private readonly plan: WavePlan,
    private readonly actions: WaveActions,
  ) {
    super(app, panel, PAGE, titleOf(plan));
    this.owned.add(
      app.sidecar.onNotification(WAVE_CHANGED, ({ wave, progress }) => {
        if (wave === this.wave) {
          this.showProgress(progress, true);
        }
      }),
    );
  }

  /** A wave whose tab is closed ends. */
  override dispose(): void {
    super.dispose();
    this.ending.cancel();
  }

  protected override async take(message: FromWavePage): Promise<void> {
    switch (message.kind) {
      case "ready":
      case "again":
        this.post({ kind: "wave", title: titleOf(this.plan), from: fromText(this.plan) });
        await this.run();
        break;
      case "cancel":
        await this.app.sidecar.request(CANCEL_WAVE, { wave: this.wave });
        break;
      case "source":
        await openSourceLine(this.app, "", message.path, message.line);
        break;
      case "trace":
        await this.actions.openTrace(this.trace, message.trace, this.traceTitle);
        break;
      case "debug":
        await this.actions.debugItem(this.plan, message.item);
        break;
    }
  }

  private async run(): Promise<void> {
    if (this.wave !== "") {
      return;
    }
    const { agent, place, data, server, options } = this.plan;
    this.wave = randomUUID();
    this.ending = new vscode.CancellationTokenSource();
    try {
      const request = {
        ...{ wave: this.wave, target: targetOf(agent), data: data.path, server },
        ...{ ...place, groups: options.groups, group_size: options.groupSize },
        ...{ mode: options.mode, timeout_s: options.timeoutS },
        arguments: this.plan.arguments,
      };
      const cancel = this.ending.token;
      const report = await this.app.sidecar.request(WAVE, request, { cancel });
      this.trace = report.trace;
      this.showProgress(report.progress, false);
      this.post({ kind: "report", report });
    } catch (error) {
      const { code, message, nextStep, detail } = asEaglerayError(error);
      this.app.log.error(`a wave: ${code}: ${message} ${detail}`.trim());
      this.post({ kind: "failed", message, nextStep });
    } finally {
      this.wave = "";
    }
  }

  private get traceTitle(): string {
    return vscode.l10n.t("Trace of {0}", titleOf(this.plan));
  }

  private showProgress(progress: WaveProgress, isRunning: boolean): void {
    this.post({ kind: "progress", progress, isRunning });
  }
}

/** "Solver, 64 × 8". */
function titleOf({ agent, options }: WavePlan): string {
  return `${plain(agent.name, 60)}, ${sizeText(options)}`;
}

function fromText({ data, server, options }: WavePlan): string {
  const name = data.isGiven ? vscode.l10n.t("Entered items") : plain(basename(data.path));
  return vscode.l10n.t("{0} with {1}, {2}", name, plain(server), options.mode);
}
