/** The commands of the doctor; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../app";
import { plain } from "../common/texts";
import { longWork } from "../dialogs";
import type { Row } from "../rows";
import { askForPaths, understoodPath } from "../typed_paths";
import { pickOrType } from "../typed_picker";
import { ifTrusted, ruleFolders } from "../workspace";
import type { Job } from "../clusters/messages";
import { connected } from "../observe/hangs/connect_first";
import { ofCluster, targetOf } from "../observe/hangs/targets_model";
import { runStateText } from "../runs/state_texts";
import { DiagnosisPanels, type NamedDiagnosis } from "./diagnosis_panel";
import { withIgnoredRules } from "./ignored_rules";
import { DIAGNOSE } from "./messages";
import type { ProblemLists } from "./problem_list";
import {
  logsOf,
  logsOfPaths,
  logsOfRun,
  namedLogs,
  thisMachine,
  type NamedLogs,
} from "./targets_model";
import { WatchedClusters } from "./watched_clusters";

/** Limit of the picker: the newest runs. */
const MOST_RUNS = 10;

export class DoctorCommands {
  private readonly panels: DiagnosisPanels;

  constructor(
    private readonly app: App,
    lists: ProblemLists,
  ) {
    const watched = new WatchedClusters(app, lists);
    app.context.subscriptions.push(watched);
    this.panels = new DiagnosisPanels(
      app,
      (logs) => app.errors.shown("diagnosing", () => this.made(logs)),
      watched,
      lists,
    );
  }

  /**
   * Diagnoses, and shows the diagnosis:
   *
   * 1. The target that another feature names.
   * 2. The files of the explorer.
   * 3. The row.
   * 4. Without any of these, what the user picks.
   */
  async diagnose(rows: readonly Row[], args: readonly unknown[]): Promise<void> {
    const uris = urisOf(args);
    const logs =
      namedLogs(args[0]) ??
      (uris.length > 0
        ? logsOfPaths(uris.map(({ fsPath }) => fsPath))
        : ((await this.ofRow(rows)) ?? (rows.length === 0 ? await this.picked() : undefined)));
    const made = logs === undefined || isMade(logs) ? logs : await this.made(logs);
    if (made !== undefined) {
      this.panels.show(made);
    }
  }

  revive(panel: vscode.WebviewPanel, state: unknown): void {
    this.panels.revive(panel, state);
  }

  /** A job of SLURM with Ray is connected first; another one has only its output and its nodes. */
  private async ofRow(rows: readonly Row[]): Promise<NamedLogs | undefined> {
    const chosen = targetOf(rows, this.app.clusters.value);
    if (chosen !== undefined && "job" in chosen && !mayHaveRay(chosen.job)) {
      return { name: chosen.name, target: { slurm_job: chosen.job.address } };
    }
    const named = chosen === undefined ? undefined : await connected(chosen);
    return named === undefined ? undefined : logsOf(named);
  }

  /** undefined where the user has to trust the workspace first: a Python that is named may be its own. */
  private async made(logs: NamedLogs): Promise<NamedDiagnosis | undefined> {
    const isNamingPython = (logs.target.python ?? "") !== "";
    return await (isNamingPython ? ifTrusted(() => this.ask(logs)) : this.ask(logs));
  }

  private async ask(logs: NamedLogs): Promise<NamedDiagnosis> {
    const title =
      logs.target.before === true
        ? vscode.l10n.t("Checking {0}", plain(logs.name))
        : vscode.l10n.t("Reading the logs of {0}", plain(logs.name));
    const diagnosis = await longWork(title, (options) =>
      this.app.sidecar.request(DIAGNOSE, { ...logs.target, ...ruleFolders() }, options),
    );
    return { ...logs, diagnosis: await withIgnoredRules(diagnosis), madeAt: Date.now() };
  }

  private async picked(): Promise<NamedLogs | undefined> {
    const runs = (await this.app.latestRuns()).slice(0, MOST_RUNS);
    const clusters = this.app.clusters.value.clusters.filter(({ state }) => state === "connected");
    const rows = [
      ...clusters.map(ofCluster).map((named) => ({
        label: named.name,
        description: vscode.l10n.t("cluster"),
        value: logsOf(named),
      })),
      ...runs.map((run) => {
        const value = logsOfRun(run);
        return { label: value.name, description: plain(runStateText(run)), value };
      }),
      {
        label: vscode.l10n.t("This Machine"),
        description: vscode.l10n.t("checks before a run"),
        value: thisMachine(),
      },
      {
        label: vscode.l10n.t("Log File or Folder…"),
        description: "",
        value: FILES,
        alwaysShow: true,
      },
    ] as const;
    const chosen = await pickOrType<NamedLogs | typeof FILES>({
      title: vscode.l10n.t("Select What to Diagnose"),
      placeholder: vscode.l10n.t("Select, or paste the path of a log or folder"),
      rows: () => rows,
      understood: (text) => understoodPath(text, "any", (path) => logsOfPaths([path])),
    });
    return chosen === FILES ? await selectedLogs() : chosen;
  }
}

/** Leads to the question for logs. */
const FILES = Symbol("files");

/** Whether another feature has made the diagnosis that it wants shown. */
function isMade(logs: NamedLogs): logs is NamedDiagnosis {
  return "diagnosis" in logs && "madeAt" in logs;
}

function mayHaveRay({ status: { ray, job } }: Job): boolean {
  return ray !== "none" && job.state === "running";
}

/** The files and folders of the explorer's menu, which passes the clicked one, and all that are selected. */
function urisOf([clicked, selected]: readonly unknown[]): readonly vscode.Uri[] {
  if (!(clicked instanceof vscode.Uri)) {
    return [];
  }
  const several = Array.isArray(selected)
    ? selected.filter((each) => each instanceof vscode.Uri)
    : [];
  return several.length > 0 ? several : [clicked];
}

async function selectedLogs(): Promise<NamedLogs | undefined> {
  const paths = await askForPaths({
    title: vscode.l10n.t("Select a Log, or a Folder with Logs"),
    openLabel: vscode.l10n.t("Diagnose"),
    kind: "any",
    listed: "**/*.log",
    canSelectMany: true,
  });
  return paths.length === 0 ? undefined : logsOfPaths(paths);
}
