/** The breakpoints of the gutter: what a run starts with, and what reaches it while it goes on. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import type { Parts } from "../../parts";
import { windowName } from "../../workspace";
import { breakpointsOf, sameBreakpoints, type Set } from "./breakpoint_model";
import { BREAKPOINTS, type Breakpoint, type Run } from "./messages";
import { isLive } from "./model";
import { isOfThisWindow } from "./surroundings";

/** Dragging and "Remove All Breakpoints" change many at once: they are told together. */
const TOGETHER_MS = 150;

/** All breakpoints of the editor that workers can stop at. */
export function gutterBreakpoints(): Breakpoint[] {
  return breakpointsOf(
    vscode.debug.breakpoints
      .filter((one) => one instanceof vscode.SourceBreakpoint)
      .filter(({ location }) => location.uri.scheme === "file")
      .map(setOf),
  );
}

function setOf(one: vscode.SourceBreakpoint): Set {
  return {
    path: one.location.uri.fsPath,
    line: one.location.range.start.line + 1,
    enabled: one.enabled,
    condition: one.condition ?? "",
    hit: one.hitCondition ?? "",
    log: one.logMessage ?? "",
  };
}

/** Tells live runs of this window about changes; a window without them says nothing. */
export class Gutter implements Disposable {
  private readonly subscriptions: readonly Disposable[];
  private timer: NodeJS.Timeout | undefined;
  /** Undefined: no live run of this window has been told anything. */
  private told: readonly Breakpoint[] | undefined;
  private hasFailed = false;

  constructor(private readonly parts: Parts) {
    this.subscriptions = [
      vscode.debug.onDidChangeBreakpoints(() => {
        this.soon();
      }),
      // A run that appears may have begun in another window, or before this one was loaded anew.
      parts.runs.onChanged(({ runs }) => {
        if (!runs.some(isOurs)) {
          this.told = undefined;
        } else if (this.told === undefined || this.hasFailed) {
          this.soon();
        }
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const one of this.subscriptions) {
      one.dispose();
    }
  }

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.tell(), TOGETHER_MS);
  }

  private async tell(): Promise<void> {
    const breakpoints = gutterBreakpoints();
    const isKnown = this.told !== undefined && sameBreakpoints(this.told, breakpoints);
    if ((isKnown && !this.hasFailed) || !this.parts.runs.value.runs.some(isOurs)) {
      return;
    }
    this.told = breakpoints;
    try {
      await this.parts.sidecar.request(BREAKPOINTS, { workspace: windowName(), breakpoints });
      this.hasFailed = false;
    } catch (error) {
      // The row of each line says what has become of it; a click in the gutter asks for no dialog.
      this.hasFailed = true;
      this.parts.log.warn(`breakpoints were not told to the runs: ${String(error)}`);
    }
  }
}

function isOurs(run: Run): boolean {
  return isLive(run) && isOfThisWindow(run);
}
