// The sidecar's process until its first answer: real processes, one of which says nothing.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { openChannel } from "../../extension/sidecar/channel";
import { SidecarProcess } from "../../extension/sidecar/processes";

const NEVER = new Promise<never>(() => undefined);
const LONG_MS = 60_000;

interface Started {
  readonly child: SidecarProcess;
  readonly lines: readonly string[];
  /** Resolves when it has said something. */
  readonly spoken: Promise<void>;
}

function started(script: string): Started {
  const lines: string[] = [];
  let speak: () => void = () => undefined;
  const spoken = new Promise<void>((resolve) => (speak = resolve));
  const child = new SidecarProcess({ command: "/bin/sh", args: ["-c", script] }, (line) => {
    lines.push(line);
    if (lines.length > 1) {
      speak();
    }
  });
  return { child, lines, spoken };
}

/** Errors about a process that gives no answer. */
async function refused(
  child: SidecarProcess,
  limitMs: number,
  ending: AbortSignal,
): Promise<EaglerayError> {
  const error = await child.answering(NEVER, limitMs, ending).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof EaglerayError);
  return error;
}

test("one that hangs is ended, and one is told so with what it said last and what to do", async () => {
  const { child, lines, spoken } = started("echo reading libraries >&2; exec sleep 600");
  await spoken;
  const error = await refused(child, 50, new AbortController().signal);
  assert.equal(error.code, "sidecar-silent");
  assert.match(
    error.sentence,
    /did not answer within 0\.05 s\. Restart it, or select another Python/,
  );
  assert.match(error.detail, /SIGKILL\s+reading libraries$/);
  assert.equal(lines.at(-1), "process ended: signal SIGKILL");
});

test("one that is not wanted any more is not waited for", async () => {
  const { child, lines } = started("exec sleep 600");
  const ending = new AbortController();
  const answer = refused(child, LONG_MS, ending.signal);
  ending.abort();
  assert.equal((await answer).code, "sidecar-not-started");
  assert.equal(lines.at(-1), "process ended: signal SIGKILL");
});

test("one that ends before it answers says why", async () => {
  const { child } = started("echo ImportError: pygls >&2; exit 3");
  const error = await refused(child, LONG_MS, new AbortController().signal);
  assert.equal(error.code, "sidecar-not-started");
  assert.match(error.detail, /exit status 3/);
});

test("the end of its output is not an answer", async () => {
  const launch = { command: "sh", args: ["-c", "exec >&-; cat > /dev/null"], env: {} };
  const closed: string[] = [];
  const listener = { notified: () => undefined, closed: (why: string) => closed.push(why) };
  const ending = new AbortController();
  const opened = openChannel(launch, {}, [], listener, () => undefined, ending.signal);
  await assert.rejects(opened, { code: "sidecar-not-started" });
});

test("one that answers is left alone, until it is told to end", async () => {
  const { child, lines } = started("read line; exit 0");
  await child.answering(Promise.resolve(), LONG_MS, new AbortController().signal);
  await child.end();
  assert.equal(lines.at(-1), "process ended: exit status 0");
});
