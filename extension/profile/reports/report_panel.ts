/** The panel of one report: its document, consent in Restricted Mode, and the answers to its page. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { asEaglerayError, EaglerayError, isCancellation } from "../../common/errors";
import { plain } from "../../common/texts";
import { PageTab, revealFile, type PageKind } from "../../page/tabs";
import type { Progress } from "../../sidecar/sidecar";
import { workerName } from "../../debug/workers/names";
import {
  REPORT,
  REPORT_TEXT,
  TABLE,
  TABLE_TEXT,
  type Report,
  type TableTextRequest,
} from "./messages";
import { openInNsight } from "./nsight";
import type { FromPage, TableQuery, ToReportPage } from "./page_messages";

/** Errors of a sidecar that didn't start, and so didn't get the request. */
const NOT_STARTED = ["sidecar-not-started", "sidecar-silent", "no-python"];

/** Rows of a table in an exported page. */
const MOST_EXPORTED_ROWS = 500;

const PAGE: PageKind = { script: "report_page", doing: "a report’s page", draws: "report" };

/**
 * Its requests are cancelled when it is closed.  The editor discards a hidden page (without `retainContextWhenHidden`), which
 * sends “ready” each time it is back; its content is kept here, so that nothing is read twice.
 */
export class ReportTab extends PageTab<FromPage, ToReportPage> {
  private present: ToReportPage | undefined;
  private cancelling: vscode.CancellationTokenSource | undefined;
  private waitsForStart = false;
  private waitsForTrust = false;
  private hasConsent = false;

  constructor(
    app: App,
    private readonly uri: vscode.Uri,
    panel: vscode.WebviewPanel,
  ) {
    super(app, panel, PAGE, plain(basename(uri.fsPath)));
    this.owned.add(
      app.sidecar.onStarted(() => {
        void this.sidecarStarted();
      }),
    );
    this.owned.add(
      vscode.workspace.onDidGrantWorkspaceTrust(() => {
        void this.trusted();
      }),
    );
  }

  override dispose(): void {
    super.dispose();
    this.cancel();
  }

  protected override async take(message: FromPage): Promise<void> {
    if (message.kind === "ready" && this.present !== undefined) {
      this.post(this.present);
    } else if (message.kind === "ready" || message.kind === "again") {
      await this.read();
    } else if (message.kind === "cancel") {
      this.cancelling?.cancel();
    } else {
      await this.follow(message);
    }
  }

  /** A report that crashed the sidecar is not read again automatically. */
  private async sidecarStarted(): Promise<void> {
    if (this.waitsForStart) {
      await this.read();
    }
  }

  /** A report that wasn't opened in Restricted Mode is, once the user trusts the workspace. */
  private async trusted(): Promise<void> {
    if (this.waitsForTrust) {
      await this.read();
    }
  }

  private cancel(): void {
    this.cancelling?.cancel();
    this.cancelling?.dispose();
  }

  private async follow(message: FromPage): Promise<void> {
    switch (message.kind) {
      case "query":
        await this.answerQuery(message.query);
        break;
      case "copy":
        await this.copyTable(message.query, message.format);
        break;
      case "copyReport":
        await this.copyReport();
        break;
      case "copyPath":
        await this.copy(this.uri.fsPath, vscode.l10n.t("Copied the path."));
        break;
      case "reveal":
        await revealFile(this.uri);
        break;
      case "openInNsight":
        openInNsight(this.app, this.uri);
        break;
      default:
        this.app.log.show();
    }
  }

  private async read(): Promise<void> {
    this.cancel();
    const cancel = new vscode.CancellationTokenSource();
    this.cancelling = cancel;
    this.waitsForStart = false;
    this.waitsForTrust = false;
    this.show({ kind: "loading", message: "", percentage: null });
    try {
      await this.askForConsent();
      const options = {
        cancel: cancel.token,
        onProgress: ({ message = "", percentage }: Progress): void => {
          this.show({ kind: "loading", message: plain(message), percentage: percentage ?? null });
        },
      };
      const path = this.uri.fsPath;
      const report = await this.app.sidecar.request(REPORT, { path }, options);
      this.show({ kind: "report", report, title: titleOf(report) });
    } catch (error) {
      this.showFailure(error);
    }
  }

  private async askForConsent(): Promise<void> {
    const path = this.uri.fsPath;
    if (this.hasConsent || !needsConsent(path)) {
      return;
    }
    this.hasConsent = await consented(path);
    // The user may also have answered by trusting the workspace.
    if (!this.hasConsent && needsConsent(path)) {
      this.waitsForTrust = true;
      throw notOpened();
    }
  }

  private showFailure(error: unknown): void {
    if (isCancellation(error)) {
      this.show({
        kind: "failed",
        message: vscode.l10n.t("Reading the report was cancelled."),
        nextStep: "",
      });
      return;
    }
    const { code, message, nextStep, detail } = asEaglerayError(error);
    this.waitsForStart = NOT_STARTED.includes(code);
    this.app.log.error(`reading a report: ${code}: ${message} ${nextStep} ${detail}`.trim());
    this.show({ kind: "failed", message, nextStep });
  }

  /** The page hears of a failure as well, so that it doesn't show the rows of an older query. */
  private async answerQuery(query: TableQuery): Promise<void> {
    try {
      const table = await this.app.sidecar.request(TABLE, { ...query, path: this.uri.fsPath });
      this.post({ kind: "table", query, table });
    } catch (error) {
      this.post({ kind: "noTable", query, reason: asEaglerayError(error).sentence });
      throw error;
    }
  }

  private async copyTable(query: TableQuery, format: TableTextRequest["format"]): Promise<void> {
    const { table, sort, descending, search } = query;
    const request = { path: this.uri.fsPath, table, sort, descending, search, format };
    const { title, text, rows, total } = await this.app.sidecar.request(TABLE_TEXT, request);
    const copied =
      rows === total
        ? vscode.l10n.t("Copied “{0}”.", title)
        : vscode.l10n.t("Copied the first {0} of {1} rows of “{2}”.", rows, total, title);
    await this.copy(text, copied);
  }

  private async copyReport(): Promise<void> {
    const request = { path: this.uri.fsPath };
    const { text } = await this.app.sidecar.request(REPORT_TEXT, request);
    await this.copy(text, vscode.l10n.t("Copied the summary."));
  }

  /** With more rows of each table than the page has at first. */
  protected override async exported(): Promise<readonly ToReportPage[]> {
    if (this.present?.kind !== "report") {
      return [];
    }
    const { report } = this.present;
    const tables = await Promise.all(
      report.tables.map(async ({ id, sorted_by, descending }) => {
        const request = { path: this.uri.fsPath, table: id, sort: sorted_by, descending };
        return this.app.sidecar.request(TABLE, { ...request, limit: MOST_EXPORTED_ROWS });
      }),
    );
    return [{ ...this.present, report: { ...report, tables } }];
  }

  private show(message: ToReportPage): void {
    this.present = message;
    this.post(message);
  }
}

/** "policy-0 (rank 0)"; the name of the file, where its worker is unknown. */
function titleOf({ worker, class_name, rank, name }: Report): string {
  const recorded = worker || class_name;
  return plain(recorded === "" ? name : workerName({ name: recorded, rank }));
}

const OPEN = vscode.l10n.t("Open Report");

/** A database is read by Eagleray itself, which trusts nothing in it. */
function needsConsent(path: string): boolean {
  return !vscode.workspace.isTrusted && path.endsWith(".nsys-rep");
}

/** Whether the user agrees to open the report. */
async function consented(path: string): Promise<boolean> {
  const picked = await vscode.window.showWarningMessage(
    vscode.l10n.t("Open {0} with nsys?", plain(basename(path))),
    {
      modal: true,
      detail: vscode.l10n.t(
        "You haven't trusted this workspace. A manipulated report could exploit a bug in nsys.",
      ),
    },
    OPEN,
  );
  return picked === OPEN;
}

function notOpened(): EaglerayError {
  return new EaglerayError(
    "untrusted-workspace",
    vscode.l10n.t("The report wasn't opened, because this workspace isn't trusted."),
    vscode.l10n.t("Trust the workspace, or open the report again and agree."),
  );
}
