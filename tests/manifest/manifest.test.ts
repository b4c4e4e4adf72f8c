// package.json and contributions.ts say the same, in both directions.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import {
  COLORS,
  COMMANDS,
  PANELS,
  TITLE_COMMANDS,
  CONTEXT_KEYS,
  DEBUG_TYPE,
  INSPECTION_TYPE,
  EDITORS,
  ROWS,
  SETTINGS,
  VIEWS,
  VIEW_CONTAINER,
  WALKTHROUGH,
} from "../../extension/contributions";
import { draftOfLaunch } from "../../extension/runs/launch_json";

interface When {
  readonly when?: string;
}
/** An entry is a command or a submenu. */
interface MenuEntry {
  readonly command?: string;
  readonly submenu?: string;
}
interface Manifest {
  readonly engines: { readonly vscode: string };
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly extensionDependencies?: readonly string[];
  readonly capabilities: {
    readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] };
  };
  readonly contributes: {
    readonly commands: readonly {
      readonly command: string;
      readonly title: string;
      readonly enablement?: string;
    }[];
    readonly submenus: readonly { readonly id: string }[];
    readonly menus: Readonly<Record<string, readonly (When & MenuEntry)[]>>;
    readonly keybindings: readonly (When & { readonly command: string; readonly key: string })[];
    readonly viewsContainers: Readonly<
      Record<string, readonly { readonly id: string; readonly icon: string }[]>
    >;
    readonly views: Readonly<
      Record<string, readonly { readonly id: string; readonly icon: string }[]>
    >;
    readonly viewsWelcome: readonly (When & { readonly view: string; readonly contents: string })[];
    readonly configuration: readonly {
      readonly properties: Readonly<
        Record<string, { readonly default: unknown; readonly scope: string }>
      >;
    }[];
    readonly debuggers: readonly {
      readonly type: string;
      readonly configurationAttributes: { readonly launch: { readonly properties: object } };
      readonly configurationSnippets: readonly { readonly body: object }[];
    }[];
    readonly customEditors: readonly {
      readonly viewType: string;
      readonly priority: string;
      readonly selector: readonly { readonly filenamePattern: string }[];
    }[];
    readonly walkthroughs: readonly {
      readonly id: string;
      readonly steps: readonly {
        readonly id: string;
        readonly description: string;
        readonly media: { readonly image: string; readonly altText: string };
        readonly completionEvents: readonly string[];
      }[];
    }[];
    readonly breakpoints: readonly { readonly language: string }[];
    readonly colors: readonly {
      readonly id: string;
      readonly defaults: Readonly<
        Record<"dark" | "light" | "highContrast" | "highContrastLight", string>
      >;
    }[];
  };
}

const root = process.cwd();
const read = (name: string): string => readFileSync(join(root, name), "utf8");
const texts = JSON.parse(read("package.nls.json")) as Readonly<Record<string, string>>;
/** package.json with the texts of package.nls.json in place of their keys. */
const manifest = JSON.parse(read("package.json"), (_, value: unknown) =>
  typeof value === "string" && /^%.+%$/.test(value) ? texts[value.slice(1, -1)] : value,
) as Manifest;
const { contributes } = manifest;
const settings = Object.assign(
  {},
  ...contributes.configuration.map((each) => each.properties),
) as Manifest["contributes"]["configuration"][number]["properties"];
const commands = contributes.commands.map((one) => one.command).sort();
const views = Object.values(contributes.views).flat();
const menus = Object.values(contributes.menus).flat();

test("commands", () => {
  assert.deepEqual(commands, Object.values<string>(COMMANDS).sort());
});

test("commands of the views' titles", () => {
  const inTitles = (contributes.menus["view/title"] ?? []).map(({ command }) => command);
  assert.deepEqual([...new Set(inTitles)].sort(), [...TITLE_COMMANDS].sort());
});

test("settings and their defaults", () => {
  const inManifest = Object.entries(settings).map(
    ([name, { default: value }]) => [name.replace(/^eagleray\./, ""), value] as const,
  );
  assert.deepEqual(Object.fromEntries(inManifest), { ...SETTINGS });
});

test("the palette has 25 commands at most before there is a run, cluster, paused worker, server or report", () => {
  const conditional = (contributes.menus["commandPalette"] ?? []).map(({ command }) => command);
  const always = commands.filter((command) => !conditional.includes(command));
  assert.ok(always.length <= 25, always.join());
});

test("editors: Eagleray is the default editor of reports, and a choice for databases", () => {
  const editors = contributes.customEditors.map(
    ({ viewType, priority, selector }) =>
      [viewType, priority, selector.map((one) => one.filenamePattern).join()] as const,
  );
  assert.deepEqual(editors, [
    [EDITORS.report, "default", "*.nsys-rep"],
    [EDITORS.database, "option", "*.sqlite"],
  ]);
});

test("views", () => {
  const ids = views.map((view) => view.id);
  assert.deepEqual(ids, Object.values(VIEWS));
  assert.deepEqual(Object.keys(contributes.views), [VIEW_CONTAINER]);
  assert.equal(contributes.viewsContainers["activitybar"]?.[0]?.id, VIEW_CONTAINER);
});

test("states can be told from the background in each of VS Code's own themes", () => {
  const kinds = {
    "vs-dark": "dark",
    vs: "light",
    "hc-black": "highContrast",
    "hc-light": "highContrastLight",
  } as const;
  const recorded = JSON.parse(
    readFileSync(join("tests", "vscode", "pages", "recorded", "themes.json"), "utf8"),
  ) as {
    readonly backgrounds: readonly {
      readonly theme: string;
      readonly uiTheme: keyof typeof kinds;
      readonly sideBar: string;
      readonly editor: string;
    }[];
  };
  assert.deepEqual(
    contributes.colors.map(({ id }) => id),
    Object.values(COLORS),
  );
  assert.equal(recorded.backgrounds.length, 19);
  const weak = recorded.backgrounds.flatMap(({ theme, uiTheme, sideBar, editor }) =>
    contributes.colors
      .filter(({ defaults }) =>
        [sideBar, editor].some((background) => contrast(defaults[kinds[uiTheme]], background) < 3),
      )
      .map(({ id }) => `${id} in ${theme}`),
  );
  assert.deepEqual(weak, []);
  // Dark Modern's `charts.orange` on its side bar, as it is drawn.
  assert.ok(contrast("#5D2F10", "#181818") < 3);
});

/** The ratio of WCAG 2.2, 1 to 21. */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test("icons are there", () => {
  const icons = [...views, ...Object.values(contributes.viewsContainers).flat()];
  for (const { icon } of icons) {
    assert.ok(existsSync(join(root, icon)), icon);
  }
});

test("menus and keys name commands and submenus that exist", () => {
  const submenus = contributes.submenus.map(({ id }) => id);
  const entries: readonly MenuEntry[] = [...menus, ...contributes.keybindings];
  for (const { command, submenu } of entries) {
    const known =
      submenu === undefined ? commands.includes(command ?? "") : submenus.includes(submenu);
    assert.ok(known, command ?? submenu);
  }
  // Each submenu has entries, and is itself in a menu.
  assert.deepEqual(
    submenus.filter((id) => contributes.menus[id] === undefined),
    [],
  );
  assert.deepEqual(new Set(menus.flatMap(({ submenu }) => submenu ?? [])), new Set(submenus));
});

test("an empty view has at most one button, the rest are links", () => {
  for (const { view, when, contents } of contributes.viewsWelcome) {
    // The editor shows a link that is alone on its line as a button.
    const buttons = contents.split("\n").filter((line) => /^\[[^\]]+\]\([^)]+\)$/.test(line));
    assert.ok(buttons.length <= 1, `${view}, ${String(when)}: ${buttons.join()}`);
  }
});

test("welcome texts belong to our views and link to commands that exist", () => {
  for (const { view, contents } of contributes.viewsWelcome) {
    assert.ok(
      views.some((one) => one.id === view),
      view,
    );
    // Commands of the editor itself: a command for each view that leads there, and one for trust.
    const ofEditor = ["workbench.trust.manage", ...views.map(({ id }) => `${id}.focus`)];
    const known = [...commands, ...ofEditor];
    for (const [, command] of contents.matchAll(/\(command:([^)?]+)[^)]*\)/g)) {
      assert.ok(known.includes(command ?? ""), command);
    }
  }
});

const steps = contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
const whens = [
  ...[...menus, ...contributes.keybindings, ...contributes.viewsWelcome].map(
    (one) => one.when ?? "",
  ),
  ...steps.flatMap(({ completionEvents }) =>
    completionEvents.filter((event) => event.startsWith("onContext:")),
  ),
];

test("steps of the walkthrough have a picture, and are completed by commands and settings that exist", () => {
  assert.deepEqual(
    contributes.walkthroughs.map(({ id }) => id),
    [WALKTHROUGH],
  );
  for (const { id, media, description, completionEvents } of steps) {
    assert.ok(existsSync(join(root, media.image)), media.image);
    assert.ok(media.altText.length > 0, id);
    const named = [...description.matchAll(/\(command:(eagleray\.\w+)/g)].map(([, name]) => name);
    for (const event of completionEvents) {
      const [kind, name = ""] = event.split(":");
      if (kind === "onCommand") {
        named.push(name);
      } else if (kind === "onSettingChanged") {
        assert.ok(name in settings, event);
      } else {
        assert.equal(kind, "onContext");
      }
    }
    assert.deepEqual(
      named.filter((name) => !commands.includes(name ?? "")),
      [],
      id,
    );
  }
});

test("every context key is read somewhere, and every one that is read is set", () => {
  const named = new Set(whens.flatMap((when) => when.match(/\beagleray\.[A-Za-z]+/g) ?? []));
  const ids = new Set<string>([...Object.values(VIEWS), ...Object.values(PANELS)]);
  const keys = [...named].filter((key) => !ids.has(key)).sort();
  assert.deepEqual(keys, [...CONTEXT_KEYS].sort());
});

const WORKER_STATES = ["starting", "running", "paused", "debugging", "held"];

/** Every contextValue that a row can have. */
const CONTEXTS = [
  ...Object.values(ROWS.cluster).flatMap((context) => [context, context + ROWS.routed]),
  ...Object.values(ROWS.job),
  ROWS.jobHost,
  ...["", ...Object.values(ROWS.fix)].flatMap((fix) => [
    ROWS.problem + fix,
    ROWS.problem + fix + ROWS.sshLog,
    ROWS.problem + fix + ROWS.log,
  ]),
  ROWS.node,
  ROWS.group,
  ...["paused", "held", "debugging"].map((state) => `${ROWS.worker}.${state}`),
  ROWS.anyWorker,
  `${ROWS.anyWorker}.paused`,
  ROWS.anyGroup,
  ...[
    ...Object.values(ROWS.run)
      .flatMap((context) => [context, context + ROWS.server])
      .flatMap((context) => [context, context + ROWS.picture]),
    ...WORKER_STATES.map((state) => `${ROWS.runWorker}.${state}`),
  ]
    // nsys may be with it or not.
    .flatMap((context) => [context, context + ROWS.profiled, context + ROWS.recording]),
  ROWS.runLine,
  ROWS.runReport,
  ROWS.addedServer,
];

test("every clause about a row fits some row, and every row has a menu", () => {
  const clauses = menus
    .flatMap(({ when = "" }) => [...when.matchAll(/viewItem (=~ \/.*?[^\\]\/|== \S+)/g)])
    .map(([, clause = ""]) => clause);
  const fits = (clause: string, context: string): boolean =>
    clause.startsWith("==")
      ? clause.slice(3) === context
      : new RegExp(clause.slice(4, -1)).test(context);
  for (const clause of clauses) {
    assert.ok(
      CONTEXTS.some((context) => fits(clause, context)),
      clause,
    );
  }
  for (const context of CONTEXTS) {
    assert.ok(
      clauses.some((clause) => fits(clause, context)),
      context,
    );
  }
});

test("a picture of a run adds one menu to the menus of its row, also while nsys records", () => {
  const commandsOf = (context: string): (string | undefined)[] =>
    menus
      .filter(({ when = "" }) =>
        [...when.matchAll(/viewItem =~ \/(.*?[^\\])\//g)].some(([, pattern = ""]) =>
          new RegExp(pattern).test(context),
        ),
      )
      .map(({ command }) => command);
  for (const base of Object.values(ROWS.run).flatMap((row) => [row, row + ROWS.server])) {
    for (const nsys of ["", ROWS.profiled, ROWS.recording]) {
      const without = commandsOf(base + nsys);
      const added = commandsOf(base + ROWS.picture + nsys).filter(
        (each) => !without.includes(each),
      );
      assert.deepEqual(added, [COMMANDS.openPicture]);
      assert.equal(commandsOf(base + ROWS.picture + nsys).length, without.length + 1);
    }
  }
});

test("what the issue asks of the manifest", () => {
  assert.equal(manifest.engines.vscode, "^1.99.0");
  assert.match(manifest.devDependencies["@types/vscode"] ?? "", /^1\.99\./);
  assert.equal(manifest.extensionDependencies, undefined);
  assert.deepEqual(contributes.breakpoints, [{ language: "python" }]);
  assert.deepEqual(
    contributes.debuggers.map((one) => one.type),
    [DEBUG_TYPE, INSPECTION_TYPE],
  );
  const keys = contributes.keybindings.map((one) => one.command);
  assert.ok(keys.includes(COMMANDS.attachNext));
});

test("in an untrusted workspace no setting of it chooses what is executed", () => {
  const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  for (const name of Object.keys(settings)) {
    assert.ok(restrictedConfigurations.includes(name), name);
  }
  // Not even a trusted workspace chooses the ssh that gets the person's passphrases.
  // Nor the programs that reports are read and opened with.
  const programs = ["profiling.nsys", "profiling.nsightSystems"];
  const ofMachine = ["ssh.path", "ssh.reuseControlMaster", ...programs];
  for (const name of ofMachine) {
    assert.equal(settings[`eagleray.${name}`]?.scope, "machine");
  }
});

test("a terminal is opened, and a run is started, only in a trusted workspace", () => {
  const { debug, debugWithOptions, rerunLast, shortTestRun, restartRun, profile } = COMMANDS;
  const { openTerminal, showOutput, openPdbSession } = COMMANDS;
  const starting = [debug, debugWithOptions, rerunLast, shortTestRun, restartRun, profile];
  for (const id of [...starting, openTerminal, showOutput, openPdbSession]) {
    const command = contributes.commands.find((one) => one.command === id);
    assert.equal(command?.enablement, "isWorkspaceTrusted", id);
  }
});

test("a program and a shell script have “Debug on Ray” in their title and in the explorer", () => {
  for (const menu of ["editor/title/run", "explorer/context"]) {
    const entry = contributes.menus[menu]?.find((one) => one.command === COMMANDS.debug);
    assert.match(entry?.when ?? "", /python/, menu);
    assert.match(entry?.when ?? "", /shellscript/, menu);
  }
});

test("a program that imports Ray has one button for “Debug on Ray”, outside of the run menu", () => {
  const whenIn = (menu: string): string =>
    contributes.menus[menu]?.find(({ command }) => command === COMMANDS.debug)?.when ?? "";
  assert.match(whenIn("editor/title"), / && resourcePath in eagleray\.rayPrograms$/);
  assert.match(whenIn("editor/title/run"), /\) && resourcePath not in eagleray\.rayPrograms$/);
});

test("launch.json has a schema for everything that a run takes", () => {
  const [{ configurationAttributes, configurationSnippets } = {}] = contributes.debuggers;
  const names = Object.keys(configurationAttributes?.launch.properties ?? {});
  const read = Object.keys(draftOfLaunch({ program: "x" }, "/w"));
  for (const name of read.filter((one) => !["path", "kind", "stops"].includes(one))) {
    assert.ok(names.includes(name), name);
  }
  for (const { body } of configurationSnippets ?? []) {
    const known = [...names, "type", "request", "name", "worker"];
    assert.deepEqual(
      Object.keys(body).filter((name) => !known.includes(name)),
      [],
    );
  }
});
