/** The tabs of diagnoses: each shows one, lists its lines as problems, and makes it again. */

import * as vscode from "vscode";

import type { App } from "../app";
import { dotted, plain } from "../common/texts";
import { PANELS } from "../contributions";
import { PageTab, RestoredTabs, versionOf, type PageKind } from "../page/tabs";
import { applyFix } from "./fixing";
import { problemsOf } from "./log_problems";
import type { Diagnosis } from "./messages";
import type { FromDiagnosisPage, ToDiagnosisPage } from "./page_messages";
import type { ProblemList, ProblemLists } from "./problem_list";
import type { NamedLogs } from "./targets_model";
import type { WatchedClusters } from "./watched_clusters";

/** A diagnosis with the name of what it is of; `madeAt` is in milliseconds since 1970. */
export interface NamedDiagnosis extends NamedLogs {
  readonly diagnosis: Diagnosis;
  readonly madeAt: number;
}

/** Diagnoses again; undefined if that was cancelled or has failed, which was shown. */
export type DiagnoseAgain = (logs: NamedLogs) => Promise<NamedDiagnosis | undefined>;

/** An open tab of the same target shows the new diagnosis. */
export class DiagnosisPanels extends RestoredTabs<NamedDiagnosis, DiagnosisTab> {
  constructor(
    app: App,
    private readonly again: DiagnoseAgain,
    private readonly watched: WatchedClusters,
    private readonly lists: ProblemLists,
  ) {
    super(app, PANELS.diagnosis);
  }

  protected override keyOf = ({ target }: NamedDiagnosis): string => JSON.stringify(target);
  protected override titleOf = titleOf;

  protected override tab(panel: vscode.WebviewPanel, named: NamedDiagnosis): DiagnosisTab {
    return new DiagnosisTab(this.app, panel, named, this.again, this.watched, this.lists);
  }
}

const PAGE: PageKind = {
  script: "diagnosis_page",
  doing: "a diagnosis’s page",
  draws: "diagnosis",
};

class DiagnosisTab extends PageTab<FromDiagnosisPage, ToDiagnosisPage> {
  private readonly problems: ProblemList;

  constructor(
    app: App,
    panel: vscode.WebviewPanel,
    private named: NamedDiagnosis,
    private readonly diagnoseAgain: DiagnoseAgain,
    private readonly watched: WatchedClusters,
    lists: ProblemLists,
  ) {
    super(app, panel, PAGE, titleOf(named));
    this.problems = this.owned.add(lists.added());
    this.owned.add(
      watched.onChanged(() => {
        this.sendWatching();
      }),
    );
    this.listProblems();
  }

  fill(named: NamedDiagnosis): void {
    this.named = named;
    this.listProblems();
    this.send();
  }

  protected override async take(message: FromDiagnosisPage): Promise<void> {
    switch (message.kind) {
      case "ready":
        this.send();
        break;
      case "again":
        await this.again();
        break;
      case "open":
        await openLogLine(message.path, message.line);
        break;
      case "fix":
        await this.fix(message.id);
        break;
      case "watch":
        this.watch(message.isOn);
        break;
      case "copy":
        await this.copy(message.text, vscode.l10n.t("Copied."));
        break;
    }
  }

  private async fix(id: string): Promise<void> {
    const { target, diagnosis } = this.named;
    const cause = diagnosis.causes.find((entry) => entry.id === id);
    if (cause !== undefined) {
      await applyFix(this.app, target, cause);
    }
  }

  private watch(isOn: boolean): void {
    const { name, target } = this.named;
    const { cluster = "" } = target;
    if (!isOn) {
      this.watched.unwatch(cluster);
    } else if (cluster !== "") {
      this.watched.watch(cluster, { name, target: { cluster } });
    }
  }

  private sendWatching(): void {
    const { cluster = "" } = this.named.target;
    this.post({ kind: "watching", isOn: cluster === "" ? null : this.watched.has(cluster) });
  }

  private listProblems(): void {
    this.problems.show(problemsOf(this.named.diagnosis));
  }

  private send(): void {
    const stored = { ...this.named, version: versionOf(this.app) };
    const made = new Date(this.named.madeAt).toLocaleString();
    this.post({ kind: "diagnosis", stored, from: dotted(plain(this.named.name), made) });
    this.postBusy();
    this.sendWatching();
  }

  private async again(): Promise<void> {
    const { name, target } = this.named;
    await this.repeat(
      () => this.diagnoseAgain({ name, target }),
      (named) => {
        this.fill(named);
      },
    );
  }
}

/**
 * Opens a log at a line beside the diagnosis: by the editor itself, which opens larger files than an extension can
 * (50 MiB, `_MODEL_SYNC_LIMIT` of VS Code 1.139.1).
 */
async function openLogLine(path: string, line: number): Promise<void> {
  const at = Math.max(line - 1, 0);
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(path), {
    selection: new vscode.Range(at, 0, at, 0),
    preview: true,
    viewColumn: vscode.ViewColumn.Beside,
  });
}

function titleOf({ name }: NamedLogs): string {
  return vscode.l10n.t("Diagnosis: {0}", plain(name, 60));
}
