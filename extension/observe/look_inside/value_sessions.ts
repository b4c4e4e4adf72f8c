/** Asks debug sessions for values, and follows where they stop. */

import { basename } from "node:path";

import * as vscode from "vscode";

import { movementOf } from "../../debug/attaching/stop_tracker";
import type { ValueRecord } from "./value_messages";

/** Answered by the debug adapter and by looked-into workers; DAP has none. */
const VIEW_REQUEST = "eagleray.view";
const MOST_FRAMES = 40;

/** A frame of a stopped thread, and its line as text, "policy.py:24". */
export interface ValueFrame {
  readonly id: number;
  readonly threadId: number;
  readonly name: string;
  readonly place: string;
}

interface StackFrame {
  readonly id: number;
  readonly name: string;
  readonly line: number;
  readonly source?: { readonly name?: string; readonly path?: string };
  readonly presentationHint?: string;
}

/** Rejects with the reason if the session gives none. */
export async function requestValue(
  session: vscode.DebugSession,
  question: Readonly<Record<string, unknown>>,
): Promise<ValueRecord> {
  return (await session.customRequest(VIEW_REQUEST, question)) as ValueRecord;
}

/**
 * The frame for a value, undefined if the thread isn't stopped.
 *
 * 1. The frame with this `id`, which the user has selected.
 * 2. The innermost frame of the same function as before.
 * 3. The innermost frame of the user's code.
 */
export async function frameOf(
  session: vscode.DebugSession,
  threadId: number,
  { id, name }: { readonly id?: number; readonly name?: string },
): Promise<ValueFrame | undefined> {
  const { stackFrames } = (await session.customRequest("stackTrace", {
    threadId,
    startFrame: 0,
    levels: MOST_FRAMES,
  })) as { stackFrames: readonly StackFrame[] };
  const own = stackFrames.filter(({ presentationHint }) => presentationHint === "normal");
  const frame =
    stackFrames.find((each) => each.id === id) ??
    stackFrames.find((each) => each.name === name) ??
    own[0] ??
    stackFrames[0];
  return frame && { id: frame.id, threadId, name: frame.name, place: placeOf(frame) };
}

function placeOf({ source, line }: StackFrame): string {
  return `${source?.name ?? basename(source?.path ?? "")}:${line}`;
}

/** Reports that a session has stopped, with the thread, or runs again. */
export class ValueStops implements vscode.DebugAdapterTrackerFactory {
  private readonly emitter = new vscode.EventEmitter<{
    session: vscode.DebugSession;
    threadId: number | undefined;
  }>();
  readonly onMoved = this.emitter.event;

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    return {
      onDidSendMessage: (message: unknown) => {
        const { body } = message as {
          body?: { threadId?: number; preserveFocusHint?: boolean };
        };
        const movement = movementOf(message);
        if (movement === "resumes") {
          this.emitter.fire({ session, threadId: undefined });
        } else if (movement === "stops" && body?.preserveFocusHint !== true) {
          this.emitter.fire({ session, threadId: body?.threadId ?? 0 });
        }
      },
    };
  }

  dispose(): void {
    this.emitter.dispose();
  }
}
