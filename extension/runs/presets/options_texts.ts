/** The texts of the options page that the editor writes. */

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { InterpreterFacts } from "../messages";

/** "3.11.7 · ray 2.60.0 ✓", beside the path of a Python. */
export function interpreterText({ version, ray }: InterpreterFacts): string {
  switch (ray) {
    case "":
      return vscode.l10n.t("{0} · no ray", plain(version));
    case "?":
      return vscode.l10n.t("{0} · ray ✓", plain(version));
    default:
      return vscode.l10n.t("{0} · ray {1} ✓", plain(version), plain(ray));
  }
}
