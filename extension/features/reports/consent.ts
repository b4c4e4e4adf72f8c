/** Asks before nsys reads a report in Restricted Mode: the report may come from anyone, and nsys is a native program. */

import { basename } from "node:path";

import * as vscode from "vscode";

import { EaglerayError } from "../../common/errors";
import { plain } from "../../common/texts";

const OPEN = "Open Report";

/** A database is read by Eagleray itself, which trusts nothing in it. */
export function needsConsent(path: string): boolean {
  return !vscode.workspace.isTrusted && path.endsWith(".nsys-rep");
}

/** Whether the user agrees to open the report. */
export async function consented(path: string): Promise<boolean> {
  const picked = await vscode.window.showWarningMessage(
    `Open ${plain(basename(path))} with nsys?`,
    {
      modal: true,
      detail:
        "You haven't trusted this workspace. nsys reads the report, and a manipulated report could exploit a fault of nsys.",
    },
    OPEN,
  );
  return picked === OPEN;
}

export function notOpened(): EaglerayError {
  return new EaglerayError(
    "untrusted-workspace",
    "The report wasn't opened, because this workspace isn't trusted.",
    "Trust the workspace, or open the report again and agree.",
  );
}
