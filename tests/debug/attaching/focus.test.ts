/** The session that begins comes to the front, whatever VS Code does with the focus meanwhile. */

import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import type { DebugSession } from "vscode";

import { bringToFront } from "../../../extension/debug/attaching/sessions";
import { debug, editor, type FakeSession } from "../../fakes/vscode";

const PREVIOUS = "workbench.action.debug.prevConsole";
const PATIENCE = { graceMs: 0, stepMs: 20, limitMs: 60_000, settleMs: 10 };

function session(id: string): FakeSession {
  return { id, type: "eagleray", name: id, configuration: {} };
}

describe("bringing a session to the front", () => {
  const [first, second, third] = [session("1"), session("2"), session("3")];
  const bring = (one: FakeSession, isOpen = () => true): Promise<void> =>
    bringToFront(one as unknown as DebugSession, isOpen, PATIENCE);
  const steps = (): number => editor.executed.filter((one) => one.command === PREVIOUS).length;
  let standing: Set<FakeSession>;

  beforeEach(() => {
    editor.reset();
    debug.reset();
    standing = new Set([first, second, third]);
    debug.lookAt(first, true);
  });

  /** The editor's command, whose effect is told at once or only after its answer. */
  const walks = (all: readonly FakeSession[], late = false): void => {
    let at = 0;
    editor.builtin.set(PREVIOUS, () => {
      at = (at + all.length - 1) % all.length;
      const to = all[at] ?? first;
      const look = (): void => {
        debug.lookAt(to, standing.has(to));
      };
      if (late) {
        setTimeout(look, 1);
      } else {
        look();
      }
    });
  };

  it("walks back to it", async () => {
    walks([first, second, third]);
    await bring(second);
    assert.equal(debug.activeDebugSession, second);
    assert.equal(steps(), 2);
  });

  it("does not walk past it when the editor tells late", async () => {
    walks([first, second], true);
    await bring(second);
    assert.equal(debug.activeDebugSession, second);
    assert.equal(steps(), 1);
  });

  it("comes back when VS Code moves away before the session stands", async () => {
    standing.delete(second);
    let moved = false;
    editor.builtin.set(PREVIOUS, () => {
      debug.lookAt(second, moved);
      if (!moved) {
        moved = true;
        setTimeout(() => {
          debug.lookAt(first, true);
        }, 1);
      }
    });
    await bring(second);
    assert.equal(debug.activeStackItem?.session, second);
    assert.equal(steps(), 2);
  });

  it("comes back when VS Code moves away just after it has shown the stop", async () => {
    let moves = 0;
    editor.builtin.set(PREVIOUS, () => {
      debug.lookAt(second, true);
      moves += 1;
      if (moves === 1) {
        setTimeout(() => {
          debug.lookAt(first, true);
        }, 1);
      }
    });
    await bring(second);
    assert.equal(debug.activeStackItem?.session, second);
    assert.equal(steps(), 2);
  });

  it("yields to the session that was chosen after it", async () => {
    let isWanted = true;
    editor.builtin.set(PREVIOUS, () => {
      debug.lookAt(second, true);
      setTimeout(() => {
        isWanted = false;
        debug.lookAt(third, true);
      }, 1);
    });
    await bring(second, () => isWanted);
    assert.equal(debug.activeStackItem?.session, third);
    assert.equal(steps(), 1);
  });

  it("leaves alone what the editor looks at already", async () => {
    await bring(first);
    assert.deepEqual(editor.executed, []);
  });

  it("gives up where the editor's command does nothing", async () => {
    const patience = { ...PATIENCE, stepMs: 5, limitMs: 50 };
    await bringToFront(second as unknown as DebugSession, () => true, patience);
    assert.equal(debug.activeDebugSession, first);
    assert.ok(steps() < 64);
  });

  it("leaves the only session to the editor, for a time", async () => {
    setTimeout(() => {
      debug.lookAt(second, true);
    }, 1);
    const patience = { ...PATIENCE, graceMs: 60_000 };
    await bringToFront(second as unknown as DebugSession, () => true, patience);
    assert.deepEqual(editor.executed, []);
  });

  it("walks to the only session when the editor still looks at one that has ended", async () => {
    walks([first, second]);
    const patience = { ...PATIENCE, graceMs: 5 };
    await bringToFront(second as unknown as DebugSession, () => true, patience);
    assert.equal(debug.activeDebugSession, second);
    assert.equal(steps(), 1);
  });

  it("looks anew at a session in front that stands, when the editor overlooks its frame", async () => {
    walks([second]);
    debug.lookAt(second, false);
    const stands = { ...second, configuration: { line: 7 } };
    const patience = { ...PATIENCE, stepMs: 5 };
    await bringToFront(stands as unknown as DebugSession, () => true, patience);
    assert.equal(debug.activeStackItem?.frameId, 1);
    assert.equal(steps(), 1);
  });

  it("leaves a session in front alone whose worker runs", async () => {
    walks([second]);
    debug.lookAt(second, false);
    const patience = { ...PATIENCE, stepMs: 2, limitMs: 50 };
    await bringToFront(second as unknown as DebugSession, () => true, patience);
    assert.deepEqual(editor.executed, []);
  });

  it("gives up on a session that has ended", async () => {
    await bring(second, () => false);
    assert.deepEqual(editor.executed, []);
  });
});
