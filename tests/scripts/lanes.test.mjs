// The order in which suites start, and the end of an aborted run.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Lanes } from "../../scripts/lanes.mjs";

const suite = (name, lane, ...needs) => ({ name, lane, needs });

/** Runs suites and returns the names in starting order and of those that remain; `meanwhile` runs as each starts. */
async function startOrder(
  suites,
  ready = new Map(),
  { meanwhile = () => {}, isOver = () => false } = {},
) {
  const names = [];
  const left = await new Lanes(suites, ready).run(async ({ name }) => {
    names.push(name);
    meanwhile();
    await new Promise(setImmediate);
  }, isOver);
  return { names, left: left.map(({ name }) => name) };
}

test("each suite runs once: one beside the first lane, the lab after it", async () => {
  const suites = [
    suite("long", "common", "python"),
    suite("short", "common", "python"),
    suite("check", "first", "python"),
    suite("lab", "lab", "python"),
  ];
  const { names, left } = await startOrder(suites, new Map([["python", Promise.resolve()]]));
  assert.deepEqual(names, ["check", "long", "short", "lab"]);
  assert.deepEqual(left, []);
});

test("a ready suite starts before one that waits for a requirement", async () => {
  let arrive;
  const editor = new Promise((resolve) => (arrive = resolve));
  const suites = [suite("host", "common", "editor"), suite("unit", "common")];
  const { names } = await startOrder(suites, new Map([["editor", editor]]), { meanwhile: arrive });
  assert.deepEqual(names, ["unit", "host"]);
});

test("a suite whose requirement failed is started, so that it reports the failure", async () => {
  const ready = new Map([["nsys", Promise.reject(new Error("no mirror"))]]);
  assert.deepEqual((await startOrder([suite("nsys", "common", "nsys")], ready)).names, ["nsys"]);
});

test("an aborted run starts no other suite and returns the remaining ones", async () => {
  let over = false;
  const suites = [suite("check", "first"), suite("unit", "first")];
  const { left } = await startOrder(suites, new Map(), {
    meanwhile: () => (over = true),
    isOver: () => over,
  });
  assert.deepEqual(left, ["unit"]);
});
