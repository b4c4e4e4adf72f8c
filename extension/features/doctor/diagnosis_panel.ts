/** The tabs of diagnoses: each shows one, lists its lines as problems, and makes it again. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { Disposables } from "../../common/disposables";
import { dotted, plain } from "../../common/texts";
import { PANELS } from "../../contributions";
import { drawPage } from "../../page_document";
import { diagnosisTexts } from "./diagnosis_texts";
import { applyFix } from "./fixing";
import { problemsOf } from "./log_problems";
import type { Diagnosis } from "./messages";
import type { FromDiagnosisPage, StoredDiagnosis, ToDiagnosisPage } from "./page_messages";
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

export class DiagnosisPanels {
  private readonly open = new Map<string, DiagnosisPanel>();

  constructor(
    private readonly app: App,
    private readonly again: DiagnoseAgain,
    private readonly watched: WatchedClusters,
    private readonly lists: ProblemLists,
  ) {}

  /** An open tab of the same target shows the new diagnosis. */
  show(named: NamedDiagnosis): void {
    const present = this.open.get(JSON.stringify(named.target));
    if (present !== undefined) {
      present.fill(named);
      present.focus();
      return;
    }
    const title = titleOf(named);
    const panel = vscode.window.createWebviewPanel(
      PANELS.diagnosis,
      title,
      vscode.ViewColumn.Active,
      { enableFindWidget: true },
    );
    this.add(panel, named);
  }

  /** A tab that was open before the window was reloaded, with the diagnosis that its page has stored. */
  revive(panel: vscode.WebviewPanel, state: unknown): void {
    const stored = (state as { stored?: Partial<StoredDiagnosis> } | undefined)?.stored;
    const { name, target, diagnosis, madeAt } = stored ?? {};
    const isWhole =
      name !== undefined && target !== undefined && diagnosis !== undefined && madeAt !== undefined;
    // Another version may read other fields.
    if (isWhole && stored?.version === versionOf(this.app)) {
      this.add(panel, { name, target, diagnosis, madeAt });
    } else {
      panel.dispose();
    }
  }

  private add(panel: vscode.WebviewPanel, named: NamedDiagnosis): void {
    const key = JSON.stringify(named.target);
    const page = new DiagnosisPanel(this.app, panel, named, this.again, this.watched, this.lists);
    this.open.set(key, page);
    panel.onDidDispose(() => {
      page.dispose();
      this.open.delete(key);
    });
  }
}

class DiagnosisPanel implements vscode.Disposable {
  private readonly owned = new Disposables();
  private readonly problems: ProblemList;
  private isOver = false;
  private isReading = false;

  constructor(
    private readonly app: App,
    private readonly panel: vscode.WebviewPanel,
    private named: NamedDiagnosis,
    private readonly diagnoseAgain: DiagnoseAgain,
    private readonly watched: WatchedClusters,
    lists: ProblemLists,
  ) {
    this.problems = this.owned.add(lists.added());
    this.owned.add(
      watched.onChanged(() => {
        this.sendWatching();
      }),
    );
    this.owned.add(
      panel.webview.onDidReceiveMessage((message: FromDiagnosisPage) => {
        void app.errors.shown("a diagnosis’s page", () => this.take(message));
      }),
    );
    drawPage(panel.webview, app.context, "diagnosis_page", titleOf(named));
    this.listProblems();
  }

  /** Brings the tab to the front, as a command does that the user has just run. */
  focus(): void {
    this.panel.reveal();
  }

  fill(named: NamedDiagnosis): void {
    this.named = named;
    this.listProblems();
    this.send();
  }

  dispose(): void {
    this.isOver = true;
    this.owned.dispose();
  }

  private async take(message: FromDiagnosisPage): Promise<void> {
    switch (message.kind) {
      case "ready":
        this.post({ kind: "texts", texts: diagnosisTexts() });
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
        await vscode.env.clipboard.writeText(message.text);
        this.post({ kind: "announcement", sentence: vscode.l10n.t("Copied.") });
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
    const stored = { version: versionOf(this.app), ...this.named };
    const made = new Date(this.named.madeAt).toLocaleString();
    this.post({ kind: "diagnosis", stored, from: dotted(plain(this.named.name), made) });
    this.post({ kind: "reading", isOn: this.isReading });
    this.sendWatching();
  }

  private async again(): Promise<void> {
    if (this.isReading) {
      return;
    }
    this.showReading(true);
    try {
      const { name, target } = this.named;
      const named = await this.diagnoseAgain({ name, target });
      if (named !== undefined && !this.isOver) {
        this.fill(named);
        // The user may type elsewhere meanwhile, such as in the palette, which would close.
        this.panel.reveal(undefined, true);
      }
    } finally {
      this.showReading(false);
    }
  }

  private showReading(isOn: boolean): void {
    this.isReading = isOn;
    this.post({ kind: "reading", isOn });
  }

  /** Messages for a page that was closed are dropped. */
  private post(message: ToDiagnosisPage): void {
    if (!this.isOver) {
      void this.panel.webview.postMessage(message);
    }
  }
}

/** Opens a log at a line beside the diagnosis: by the editor itself, which opens larger files than an extension can. */
async function openLogLine(path: string, line: number): Promise<void> {
  const at = Math.max(line - 1, 0);
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(path), {
    selection: new vscode.Range(at, 0, at, 0),
    preview: true,
    viewColumn: vscode.ViewColumn.Beside,
  });
}

function versionOf({ context }: App): string {
  return (context.extension.packageJSON as { version: string }).version;
}

function titleOf({ name }: NamedLogs): string {
  return vscode.l10n.t("Diagnosis: {0}", plain(name, 60));
}
