// The checks before a run on the page of its options, with a fake editor, a fake page and a fake sidecar.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import { DIAGNOSE, type Diagnosis } from "../../../extension/doctor/messages";
import { CHECK } from "../../../extension/runs/presets/messages";
import type { PageFacts } from "../../../extension/runs/presets/options_messages";
import type { OptionsForm } from "../../../extension/runs/presets/options_model";
import { START } from "../../../extension/runs/messages";
import { cause, diagnosis } from "../../doctor/diagnoses";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach, registerRuns } from "../../fakes/registered";
import { editor } from "../../fakes/vscode";
import { FOLDER, proposal } from "../samples";
import { answerOptions, closePages, opened, type Page, until } from "./options_pages";

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
  answerOptions(made);
});

afterEach(closePages);

/** The content of the line “Checks before the run”. */
function checksOf(page: Page): PageFacts["checks"] {
  return page.last("facts").facts.checks;
}

async function pressed(
  page: Page,
  kind: string,
  changes: Partial<OptionsForm> = {},
): Promise<void> {
  page.panel.webview.says({ kind, number: 0, form: { ...page.form, ...changes } });
  await settled();
}

const MACHINE = { before: true, python: "/usr/bin/python3" };
/** Rules of the workspace, which the user trusts. */
const RULES = { rule_folders: [FOLDER] };

test("a program of this machine is checked once when its command is complete", async (t) => {
  fake.sidecar.on(DIAGNOSE, () => diagnosis({ causes: [cause()] }));
  const page = await opened("eagleray.debugWithOptions");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await page.send("edit");
  await page.send("edit", { args: "--steps 4" });
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [], "the form has just changed");
  t.mock.timers.tick(1000);
  t.mock.timers.reset();
  await until(() => checksOf(page).state === "checked");
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [{ ...MACHINE, ...RULES }]);
  assert.deepEqual(checksOf(page), {
    state: "checked",
    problems: 1,
    text: "A GPU ran out of memory: 2.00 GiB needed.",
  });
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await page.send("edit", { args: "--steps 5" });
  t.mock.timers.tick(10_000);
  t.mock.timers.reset();
  await settled();
  assert.equal(fake.sidecar.sentTo(DIAGNOSE).length, 1, "its arguments don’t matter");
  await pressed(page, "runChecks");
  await until(() => fake.sidecar.sentTo(DIAGNOSE).length === 2);
});

test("ports of the command are checked, and checked again when they change", async (t) => {
  fake.sidecar.on(DIAGNOSE, () => diagnosis());
  let ports = ["--port", "8000"];
  fake.sidecar.on(CHECK, () => ({ problems: [], proposal: proposal(), nsys: "", ports }));
  const page = await opened("eagleray.debugWithOptions");
  for (const next of [ports, ports, ["--port", "8001"]]) {
    ports = next;
    t.mock.timers.enable({ apis: ["setTimeout"] });
    await page.send("edit", { args: "--key secret" });
    t.mock.timers.tick(1000);
    t.mock.timers.reset();
    await until(() => checksOf(page).state === "checked");
  }
  const sent = fake.sidecar.sentTo(DIAGNOSE) as { readonly command?: readonly string[] }[];
  const commands = sent.map(({ command }) => command);
  assert.deepEqual(commands, [
    ["--port", "8000"],
    ["--port", "8001"],
  ]);
  await pressed(page, "showChecks");
  assert.ok(
    !JSON.stringify(editor.executed).includes("secret"),
    "the tab stores no other argument",
  );
});

for (const [what, changes, answer] of [
  ["a cluster, whose nodes a job of Ray checks,", { cluster: "ssh://login" }, {}],
  ["a Ray job", { kind: "job" }, {}],
  ["another machine", { kind: "remote" }, {}],
  ["a SLURM job", {}, { confirm: "In /w: sbatch train.sh" }],
  ["an incomplete command", { ranks: "x" }, {}],
] as const) {
  test(`${what} is not checked before the user asks`, async (t) => {
    fake.sidecar.on(DIAGNOSE, () => diagnosis());
    fake.sidecar.on(CHECK, () => ({
      problems: [],
      proposal: { ...proposal(), ...answer },
      nsys: "",
      ports: [],
    }));
    const page = await opened("eagleray.debugWithOptions");
    t.mock.timers.enable({ apis: ["setTimeout"] });
    await page.send("edit", changes);
    t.mock.timers.tick(10_000);
    t.mock.timers.reset();
    await settled();
    await settled();
    assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), []);
  });
}

test("a program that can’t start, and one whose page is closed, are not checked", async (t) => {
  fake.sidecar.on(DIAGNOSE, () => diagnosis());
  fake.sidecar.on(CHECK, () => ({
    problems: [{ field: "cwd", code: "no-folder", message: "No.", next_step: "", blocks: true }],
    proposal: proposal(),
    nsys: "",
    ports: [],
  }));
  const page = await opened("eagleray.debugWithOptions");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await page.send("edit");
  t.mock.timers.tick(10_000);
  fake.sidecar.on(CHECK, () => ({ problems: [], proposal: proposal(), nsys: "", ports: [] }));
  await page.send("edit");
  page.panel.close();
  t.mock.timers.tick(10_000);
  t.mock.timers.reset();
  await settled();
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), []);
});

test("the result of the checks opens as a diagnosis, which is not made again", async () => {
  const made = diagnosis({ causes: [] });
  fake.sidecar.on(DIAGNOSE, () => made);
  const page = await opened("eagleray.debugWithOptions");
  const shown = (): unknown[] =>
    editor.executed
      .filter(({ command }) => command === "eagleray.diagnose")
      .map(({ args }) => args[0]);
  await pressed(page, "showChecks");
  assert.deepEqual(shown(), [], "there is none yet");
  await pressed(page, "runChecks");
  await until(() => checksOf(page).state === "checked");
  await pressed(page, "showChecks");
  const [named] = shown() as { name: string; target: object; diagnosis: Diagnosis }[];
  assert.deepEqual([named?.name, named?.target], ["This machine", MACHINE]);
  assert.deepEqual(named?.diagnosis, made);
});

test("the nodes of the chosen cluster are checked and compared with the program’s Python", async () => {
  fake.sidecar.on(DIAGNOSE, () => diagnosis());
  const page = await opened("eagleray.debugWithOptions");
  await pressed(page, "runChecks", { cluster: "ssh://login" });
  await until(() => checksOf(page).state === "checked");
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), [
    { ...MACHINE, cluster: "ssh://login", ...RULES },
  ]);
});

test("checks of another Python count no longer, and are cancelled", async () => {
  let cancelled = 0;
  fake.sidecar.on(DIAGNOSE, (_, { cancel }) => {
    cancel?.onCancellationRequested(() => (cancelled += 1));
    return new Promise<Diagnosis>(() => undefined) as unknown as Diagnosis;
  });
  const page = await opened("eagleray.debugWithOptions");
  await pressed(page, "runChecks");
  await until(() => fake.sidecar.sentTo(DIAGNOSE).length === 1);
  assert.equal(checksOf(page).state, "checking");
  await page.send("edit", { python: "/opt/other" });
  assert.deepEqual([checksOf(page).state, cancelled], ["unchecked", 1]);
  await pressed(page, "runChecks", { python: "/opt/other" });
  await until(() => fake.sidecar.sentTo(DIAGNOSE).length === 2);
  page.panel.close();
  assert.equal(cancelled, 2);
});

test("checks that fail say why, and the run can be started all the same", async () => {
  fake.sidecar.on(DIAGNOSE, () => {
    throw new EaglerayError("node-silent", "python couldn’t check this node.", "");
  });
  const page = await opened("eagleray.debugWithOptions");
  await pressed(page, "runChecks");
  await until(() => checksOf(page).state === "failed");
  assert.equal(checksOf(page).text, "python couldn’t check this node.");
  await page.send("start");
  assert.equal(fake.sidecar.sentTo(START).length, 1);
});

test("a page of an untrusted workspace checks nothing", async () => {
  const page = await opened("eagleray.debugWithOptions");
  editor.trusted = false;
  await pressed(page, "runChecks");
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(DIAGNOSE), []);
});
