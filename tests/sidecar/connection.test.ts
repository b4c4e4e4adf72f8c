// The life of the sidecar: started once, started again, never lost without a word.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError, noPython } from "../../extension/common/errors";
import { notification, request } from "../../extension/common/wire";
import { SidecarConnection } from "../../extension/sidecar/connection";
import { progressOf } from "../../extension/sidecar/answers";
import { type Channel, type ChannelListener } from "../../extension/sidecar/sidecar";

const ASK = request<{ readonly text: string }, string>("test/ask");
const HEARD = notification<number>("test/heard");

/** A process that answers by what the test says, and a clock that the test turns. */
class FakeWorld {
  now_ms = 0;
  opened: FakeChannel[] = [];
  timers: { readonly at: number; readonly run: () => void }[] = [];
  lines: string[] = [];
  failure: EaglerayError | undefined;
  hangs = false;

  connection = new SidecarConnection({
    open: (methods, listener, ending) => this.open(methods, listener, ending),
    after: (ms, run) => {
      const timer = { at: this.now_ms + ms, run };
      this.timers.push(timer);
      return { dispose: () => (this.timers = this.timers.filter((one) => one !== timer)) };
    },
    now: () => this.now_ms,
    log: (line) => this.lines.push(line),
  });

  get last(): FakeChannel {
    return this.opened[this.opened.length - 1] as FakeChannel;
  }

  async pass(ms: number): Promise<void> {
    this.now_ms += ms;
    const due = this.timers.filter((timer) => timer.at <= this.now_ms);
    this.timers = this.timers.filter((timer) => timer.at > this.now_ms);
    for (const timer of due) {
      timer.run();
    }
    await settled();
  }

  private async open(
    methods: readonly string[],
    listener: ChannelListener,
    ending: AbortSignal,
  ): Promise<Channel> {
    await settled();
    if (this.hangs) {
      await new Promise((_, reject) => {
        ending.addEventListener("abort", reject);
      });
    }
    if (this.failure !== undefined) {
      throw this.failure;
    }
    const channel = new FakeChannel(methods, listener);
    this.opened.push(channel);
    return channel;
  }
}

class FakeChannel implements Channel {
  readonly listening: Set<string>;
  ended = false;
  answer: (params: object) => Promise<unknown> = (params) =>
    Promise.resolve(`to ${(params as { text: string }).text}`);
  constructor(
    methods: readonly string[],
    readonly listener: ChannelListener,
  ) {
    this.listening = new Set(methods);
  }
  request(_method: string, params: object): Promise<unknown> {
    return this.answer(params);
  }
  listen(method: string): void {
    this.listening.add(method);
  }
  close(): Promise<void> {
    this.ended = true;
    return Promise.resolve();
  }
}

/** Lets everything that is already due run; no time passes. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("the first request starts it; two at once start it once", async () => {
  const world = new FakeWorld();
  assert.equal(world.connection.state.value, "idle");
  const answers = await Promise.all([
    world.connection.request(ASK, { text: "a" }),
    world.connection.request(ASK, { text: "b" }),
  ]);
  assert.deepEqual(answers, ["to a", "to b"]);
  assert.equal(world.opened.length, 1);
  assert.equal(world.connection.state.value, "ready");
});

test("a request that waits when the process dies is answered with an error of the catalogue", async () => {
  const world = new FakeWorld();
  await world.connection.start();
  world.last.answer = () => new Promise(() => undefined);
  const waiting = world.connection.request(ASK, { text: "a" });
  await settled();
  world.last.listener.closed("signal SIGKILL");
  await assert.rejects(waiting, { code: "sidecar-lost" });
  assert.equal(world.connection.state.value, "failed");
});

test("a crashed one is started again, each time later, and listeners live on", async () => {
  const world = new FakeWorld();
  const heard: number[] = [];
  let starts = 0;
  world.connection.onNotification(HEARD, (value) => heard.push(value));
  world.connection.onStarted(() => (starts += 1));
  await world.connection.start();
  for (const wait of [500, 1000, 2000]) {
    const before = world.opened.length;
    world.last.listener.closed("exit status 1");
    await world.pass(wait - 1);
    assert.equal(world.opened.length, before, `not before ${wait} ms`);
    await world.pass(1);
    assert.equal(world.opened.length, before + 1, `after ${wait} ms`);
  }
  world.last.listener.notified(HEARD.method, 7);
  assert.deepEqual(heard, [7]);
  assert.equal(starts, 4);
  assert.equal(world.connection.state.value, "ready");
});

test("a request does not wait for the back-off", async () => {
  const world = new FakeWorld();
  await world.connection.start();
  world.last.listener.closed("exit status 1");
  assert.equal(await world.connection.request(ASK, { text: "a" }), "to a");
  await world.pass(60_000);
  assert.equal(world.opened.length, 2);
});

test("without a Python only a request tries again", async () => {
  const world = new FakeWorld();
  world.failure = noPython("nothing there");
  await assert.rejects(world.connection.request(ASK, { text: "a" }), { code: "no-python" });
  assert.equal(world.connection.state.value, "no-python");
  await world.pass(3_600_000);
  assert.deepEqual([world.opened.length, world.timers.length], [0, 0]);
  world.failure = undefined;
  assert.equal(await world.connection.request(ASK, { text: "a" }), "to a");
});

test("one that does not start is tried again", async () => {
  const world = new FakeWorld();
  world.failure = new EaglerayError("sidecar-not-started", "It was not.", "", "ImportError");
  await world.connection.start();
  assert.equal(world.connection.state.value, "failed");
  assert.match(world.lines.join("\n"), /ImportError/);
  world.failure = undefined;
  await world.pass(500);
  await settled();
  assert.equal(world.connection.state.value, "ready");
});

test("restarts are one at a time, and the old process ends first", async () => {
  const world = new FakeWorld();
  await world.connection.start();
  const old = world.last;
  await Promise.all([world.connection.restart(), world.connection.restart()]);
  assert.equal(old.ended, true);
  assert.equal(world.opened.length, 2);
  old.listener.closed("exit status 0");
  assert.equal(world.connection.state.value, "ready");
});

test("a start that hangs is given up by a restart, and by the end of the extension", async () => {
  const world = new FakeWorld();
  world.hangs = true;
  const waiting = world.connection.request(ASK, { text: "a" });
  const lost = assert.rejects(waiting, { code: "sidecar-lost" });
  await settled();
  await settled();
  world.hangs = false;
  await world.connection.restart();
  await lost;
  assert.deepEqual([world.connection.state.value, world.opened.length], ["ready", 1]);
  assert.deepEqual(world.timers, []);
  const other = new FakeWorld();
  other.hangs = true;
  const starting = other.connection.start();
  await settled();
  await settled();
  await other.connection.dispose();
  await starting;
  assert.deepEqual([other.opened.length, other.timers.length], [0, 0]);
});

test("what is listened to later is asked of the running process", async () => {
  const world = new FakeWorld();
  await world.connection.start();
  const heard: number[] = [];
  const listening = world.connection.onNotification(HEARD, (value) => heard.push(value));
  assert.equal(world.last.listening.has(HEARD.method), true);
  world.last.listener.notified(HEARD.method, 1);
  listening.dispose();
  world.last.listener.notified(HEARD.method, 2);
  assert.deepEqual(heard, [1]);
});

test("its end with the extension is final", async () => {
  const world = new FakeWorld();
  await world.connection.start();
  const { last } = world;
  await world.connection.dispose();
  assert.equal(last.ended, true);
  await assert.rejects(world.connection.request(ASK, { text: "a" }), { code: "sidecar-lost" });
  await world.pass(60_000);
  assert.equal(world.opened.length, 1);
});

test("progress of LSP becomes reports; its end is none", () => {
  assert.deepEqual(progressOf({ kind: "begin", title: "Attaching", percentage: 0 }), {
    message: "Attaching",
    percentage: 0,
  });
  assert.deepEqual(progressOf({ kind: "report", message: "reads" }), {
    message: "reads",
    percentage: undefined,
  });
  assert.equal(progressOf({ kind: "end" }), undefined);
});
