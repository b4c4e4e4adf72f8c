/** The output of a run as the text of a document: without colours, and with the frames of tracebacks as links. */

import * as vscode from "vscode";

import type { App } from "../app";
import { asEaglerayError, isCancellation } from "../common/errors";
import { OUTPUT, type OutputPiece, type Run } from "./messages";
import { isLive } from "./states";
import { exists, FRAME, localFile } from "./traceback_links";

/** After this silence the output of a live run is shown so far. */
const PATIENCE_MS = 1500;
/** A piece of a live run that has fewer bytes is the last one, since what was printed before comes in larger ones. */
const SMALL_PIECE = 2 ** 17;
/** More frames than a user follows. */
const MOST_FRAMES = 2000;
/** The sequences that `eagleray/runs/output` lets pass: colours, movements of the cursor, character sets, the bell. */
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\([0B]|[78DEM])|\x07/g;

/** All output of a run, of a live one so far.  A document that fails to open shows a blank page, so it shows the error. */
export async function outputText(app: App, id: string): Promise<string> {
  try {
    return await read(app, id);
  } catch (error) {
    return `${asEaglerayError(error).sentence}\n`;
  }
}

/** The frames of tracebacks whose files this machine has. */
export async function outputLinks(
  app: App,
  document: vscode.TextDocument,
): Promise<vscode.DocumentLink[]> {
  const run = app.runs.value.runs.find(({ id }) => id === document.uri.query);
  if (run === undefined) {
    return [];
  }
  const frames = framesIn(document.getText());
  const names = new Set(frames.map(({ written }) => written));
  const files = new Map(
    await Promise.all(
      [...names].map(async (name) => [name, await localFile(name, run.cwd, exists)] as const),
    ),
  );
  return frames.flatMap(({ written, line, range }) => {
    const file = files.get(written);
    return file === undefined ? [] : [new vscode.DocumentLink(range, linkTo(file, line))];
  });
}

interface TracebackFrame {
  readonly written: string;
  readonly line: number;
  readonly range: vscode.Range;
}

function framesIn(text: string): TracebackFrame[] {
  const frames = text.split("\n").flatMap((content, at) =>
    [...content.matchAll(FRAME)].map((match) => ({
      written: match[1] ?? "",
      line: Number(match[2]),
      range: new vscode.Range(at, match.index, at, match.index + match[0].length),
    })),
  );
  // The end of an output is shown first.
  return frames.slice(-MOST_FRAMES);
}

/** The text that a terminal would show; of a line that was drawn several times, as a progress bar is, the last. */
export function plainOutput(text: string): string {
  return text
    .replace(SEQUENCES, "")
    .replace(/\r+\n/g, "\n")
    .split("\n")
    .map((line) => withoutBackspaces(lastDrawn(line)))
    .join("\n");
}

function linkTo(file: string, line: number): vscode.Uri {
  return vscode.Uri.from({ scheme: "file", path: file, fragment: `L${line}` });
}

async function read(app: App, id: string): Promise<string> {
  const run = (await app.latestRuns()).find((listed) => listed.id === id);
  const texts: string[] = [];
  let offset = 0;
  for (;;) {
    const piece = await next(app, run, { id, offset });
    if (piece === undefined) {
      break;
    }
    if (piece.skipped > 0) {
      const sentence = vscode.l10n.t(
        "The beginning is not shown. All output: {0}",
        run?.output ?? "",
      );
      texts.push(`${sentence}\n`);
    }
    texts.push(piece.text);
    const isLast = piece.next - offset - piece.skipped < SMALL_PIECE;
    offset = piece.next;
    if (piece.is_over || isLast) {
      break;
    }
  }
  const text = plainOutput(texts.join(""));
  return text === "" ? `${vscode.l10n.t("This run has printed nothing.")}\n` : text;
}

/** Undefined where a live run has printed no more yet. */
async function next(
  app: App,
  run: Run | undefined,
  from: { readonly id: string; readonly offset: number },
): Promise<OutputPiece | undefined> {
  const cancel = new vscode.CancellationTokenSource();
  const isGrowing = run !== undefined && isLive(run);
  const timer = isGrowing
    ? setTimeout(() => {
        cancel.cancel();
      }, PATIENCE_MS)
    : undefined;
  try {
    return await app.sidecar.request(OUTPUT, from, { cancel: cancel.token });
  } catch (error) {
    if (isCancellation(error)) {
      return undefined;
    }
    throw error;
  } finally {
    clearTimeout(timer);
    cancel.dispose();
  }
}

function lastDrawn(line: string): string {
  const drawn = line.split("\r").filter((part) => part !== "");
  return drawn.at(-1) ?? "";
}

function withoutBackspaces(line: string): string {
  let shown = line;
  while (shown.includes("\b")) {
    shown = shown.replace(/[^\b]?[\b]/, "");
  }
  return shown;
}
