/** Numbers and shapes beside the lines up to the stop; no other value is shown, and none is computed. */

import * as vscode from "vscode";

import { functionStart, namesIn } from "./value_expressions";
import { requestValue } from "./value_sessions";

/** Further lines aren't on the screen. */
const MOST_LINES = 300;
const MOST_NAMES = 200;

export class ShapesInline implements vscode.InlineValuesProvider {
  async provideInlineValues(
    document: vscode.TextDocument,
    viewPort: vscode.Range,
    { frameId, stoppedLocation }: vscode.InlineValueContext,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineValue[]> {
    const session = vscode.debug.activeDebugSession;
    const last = Math.min(stoppedLocation.end.line, document.lineCount - 1);
    if (session === undefined || last < 0) {
      return [];
    }
    const lineAt = (line: number): string => document.lineAt(line).text;
    const start = functionStart(lineAt, last);
    // A text of several lines may begin above the screen.
    const places = namesIn(lineAt, Math.max(start, last - MOST_LINES), last).filter(
      ({ line }) => line >= viewPort.start.line && line <= viewPort.end.line,
    );
    const names = [...new Set(places.map(({ name }) => name))].slice(0, MOST_NAMES);
    if (names.length === 0 || token.isCancellationRequested) {
      return [];
    }
    const texts = await textsOf(session, frameId, names);
    return places.flatMap(({ name, line, column }) => {
      const text = texts[name] ?? "";
      const range = new vscode.Range(line, column, line, column + name.length);
      const joint = /^[A-Za-z]/.test(text) && !/^(?:True|False|nan|inf)$/.test(text) ? ": " : " = ";
      return text === "" ? [] : [new vscode.InlineValueText(range, name + joint + text)];
    });
  }
}

/** None where the worker doesn't answer: these are only a help. */
async function textsOf(
  session: vscode.DebugSession,
  frameId: number,
  names: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  try {
    const { texts } = (await requestValue(session, { frameId, names })) as {
      texts?: Record<string, string>;
    };
    return texts ?? {};
  } catch {
    return {};
  }
}
