/** What a preset changes, shown before anything is started: both texts side by side, and a list of each wish. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { plain } from "../../common/texts";
import type { Proposal } from "./messages";
import { reviewLines, reviewTexts, type ReviewAnswer, type ReviewLine } from "./review_model";

const SCHEME = "eagleray-run";

/** The texts of the proposal that is looked at. */
export class Review implements Disposable, vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly provider: Disposable;

  constructor() {
    this.provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.path) ?? "This was what a run would have changed.\n";
  }

  /** What the person makes of a proposal; a list that is closed starts nothing. */
  async of(proposal: Proposal): Promise<ReviewAnswer> {
    const { before, after } = reviewTexts(proposal);
    const name = plain(proposal.title).replaceAll("/", "∕");
    const sides = [this.side(`/as it is/${name}`, before), this.side(`/with/${name}`, after)];
    await vscode.commands.executeCommand(
      "vscode.diff",
      ...sides,
      plain(`${name} (as it is ↔ ${proposal.plan.preset})`),
      { preview: true, preserveFocus: true },
    );
    return await pickAnswer(reviewLines(proposal));
  }

  dispose(): void {
    this.provider.dispose();
    this.changed.dispose();
  }

  private side(path: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path });
    this.texts.set(path, text);
    this.changed.fire(uri);
    return uri;
  }
}

/** Lines that only explain give no answer, and the list stays. */
function pickAnswer(lines: readonly ReviewLine[]): Promise<ReviewAnswer> {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { line: ReviewLine }>();
  pick.title = "Start it like this?";
  pick.placeholder = "What changes stands below";
  pick.ignoreFocusOut = true;
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.items = lines.map((line) => ({
    label: line.label,
    description: line.description,
    detail: line.detail,
    ...(line.icon === "" ? {} : { iconPath: new vscode.ThemeIcon(line.icon) }),
    ...(line.isTitle ? { kind: vscode.QuickPickItemKind.Separator } : {}),
    line,
  }));
  return new Promise((resolve) => {
    const done = (answer: ReviewAnswer): void => {
      resolve(answer);
      pick.dispose();
    };
    pick.onDidAccept(() => {
      const answer = pick.activeItems[0]?.line.answer;
      if (answer !== undefined) {
        done(answer);
      }
    });
    pick.onDidHide(() => {
      done("cancel");
    });
    pick.show();
  });
}
