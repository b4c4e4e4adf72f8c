// Gestures of the stories in the editor: made once, and a repeated one fails its story unless it is listed.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Gestures } from "../vscode/harness/gestures.mjs";
import { REPEATABLE } from "../vscode/harness/repeatable.mjs";
import { Results } from "../vscode/harness/results.mjs";

/** A button that opens something at its click number `needed`. */
class Button {
  clicks = 0;

  constructor(needed) {
    this.needed = needed;
  }

  click = async () => {
    this.clicks += 1;
  };

  isOpen = async () => this.clicks >= this.needed;
}

const QUICK = { effectMs: 120, timeoutMs: 2000 };

function failuresOf(gestures) {
  const failures = [];
  gestures.report({ failed: (name, reason) => failures.push([name, reason]) });
  return failures;
}

test("a button that opens at its first click is clicked once", async () => {
  const gestures = new Gestures({}, QUICK);
  const button = new Button(1);
  await gestures.make(button.click, button.isOpen, "it is open");
  assert.equal(button.clicks, 1);
  assert.deepEqual(failuresOf(gestures), []);
});

test("a button that needs two clicks fails the story", async () => {
  const gestures = new Gestures({}, QUICK);
  const button = new Button(2);
  await gestures.make(button.click, button.isOpen, "it is open");
  assert.equal(button.clicks, 2);
  assert.deepEqual(failuresOf(gestures), [["gesture repeated: it is open", "repeated once"]]);
});

test("a listed gesture may be repeated, and is printed with its reason", async (t) => {
  const print = t.mock.method(console, "log", () => {});
  const gestures = new Gestures({ "it is open": "the dialog ignores it" }, QUICK);
  const button = new Button(3);
  await gestures.make(button.click, button.isOpen, "it is open");
  assert.deepEqual(failuresOf(gestures), []);
  assert.deepEqual(
    print.mock.calls.map((call) => call.arguments),
    [["    gesture repeated: it is open (repeated 2 times; expected: the dialog ignores it)"]],
  );
});

test("a gesture that fails halfway counts as repeated, with its error", async () => {
  const gestures = new Gestures({}, QUICK);
  const button = new Button(1);
  let failures = 0;
  const gesture = async () => {
    failures += 1;
    if (failures === 1) throw new Error("the menu is closed\n  at click");
    await button.click();
  };
  await gestures.make(gesture, button.isOpen, "it is open");
  assert.deepEqual(failuresOf(gestures), [
    ["gesture repeated: it is open", "repeated once; the menu is closed"],
  ]);
});

test("a gesture that the window refuses is made again, and doesn't count", async () => {
  const gestures = new Gestures({}, QUICK);
  const button = new Button(2);
  const refusals = [true];
  const isRefused = async () => button.clicks === 1 && refusals.pop() === true;
  await gestures.make(button.click, button.isOpen, "it is open", { isRefused });
  assert.equal(button.clicks, 2);
  assert.deepEqual(failuresOf(gestures), []);
});

test("what the window shows is told with a repeated gesture", async () => {
  const gestures = new Gestures({}, QUICK);
  const button = new Button(2);
  const onRepeat = async () => "In the window: a menu";
  await gestures.make(button.click, button.isOpen, "it is open", { onRepeat });
  assert.deepEqual(failuresOf(gestures), [
    ["gesture repeated: it is open", "repeated once; In the window: a menu"],
  ]);
});

test("a late effect repeats no gesture", async () => {
  const gestures = new Gestures({}, { effectMs: 5000, timeoutMs: 5000 });
  const button = new Button(1);
  const clickedAt = Date.now();
  const isOpen = async () => button.clicks >= 1 && Date.now() - clickedAt > 300;
  await gestures.make(button.click, isOpen, "it is open");
  assert.equal(button.clicks, 1);
});

test("a gesture without any effect is an error that names it", async () => {
  const gestures = new Gestures({}, { effectMs: 50, timeoutMs: 300 });
  const button = new Button(1000);
  await assert.rejects(
    gestures.make(button.click, button.isOpen, "it is open"),
    /waited 0\.3 s until it is open/,
  );
  assert.equal(failuresOf(gestures).length, 1);
});

test("a gesture whose effect is there already isn't made", async () => {
  const button = new Button(0);
  await new Gestures({}, QUICK).make(button.click, button.isOpen, "it is open");
  assert.equal(button.clicks, 0);
});

test("a repeated gesture is a failed test in the closing line", (t) => {
  t.mock.method(console, "log", () => {});
  const results = new Results();
  const gestures = { repeated: () => [{ name: "it is open", count: 1 }] };
  Gestures.prototype.report.call(gestures, results);
  assert.equal(results.failures, 1);
});

test("each listed gesture is one of a story", () => {
  const folder = join(process.cwd(), "tests", "vscode");
  const texts = readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith(".mjs") && !file.endsWith("repeatable.mjs"))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  for (const name of Object.keys(REPEATABLE)) {
    assert.ok(
      texts.some((text) => text.includes(`"${name}"`)),
      `no story has the gesture "${name}"`,
    );
  }
});
