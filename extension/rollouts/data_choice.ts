/** Asks for the data of an agent: an item of a file, of the clipboard, or one that the user types. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { plain, shortened } from "../common/texts";
import { longWork } from "../dialogs";
import { askForPath, understoodPath } from "../typed_paths";
import { pickOrType } from "../typed_picker";
import type { ChosenData } from "./agent_model";
import { ITEMS, STORE_ITEM } from "./messages";
import {
  changeArguments,
  changeMode,
  changeWaveOptions,
  classArguments,
  runOptions,
  waveOptionsText,
} from "./run_options";

/** The key of the workspace's state under which the last choice is stored. */
const LAST = "eagleray.agentData";
const LONGEST_LABEL = 80;

/** Where files are read, and by which Python Parquet is. */
export interface DataPlace {
  readonly cwd: string;
  readonly python: string;
}

interface Source extends vscode.QuickPickItem {
  readonly choose: () => Promise<ChosenData | undefined>;
}

/** One of the last rows of the list, which changes options of the run and leads back to the list. */
interface OptionsRow extends vscode.QuickPickItem {
  readonly change: () => Promise<void>;
}

type OfPath = (path: string) => Promise<ChosenData | undefined>;

/** The item of one run; undefined when the user cancels. */
export async function chooseItem(
  app: App,
  place: DataPlace,
  target: string,
): Promise<ChosenData | undefined> {
  const last = lastData(app);
  const options = (): OptionsRow[] => [
    argumentsRow(app, target),
    optionsRow(runOptions(app).mode, () => changeMode(app)),
  ];
  const ofPath: OfPath = (path) => itemOf(app, place, path);
  return await choose(app, vscode.l10n.t("Select the data item"), options, ofPath, [
    ...(last === undefined
      ? []
      : [source(last, textOf(last), () => Promise.resolve(last)), ...others(app, place, last)]),
    {
      label: vscode.l10n.t("$(folder-opened) Select a File…"),
      choose: async () => {
        const path = await selectedFile();
        return path === undefined ? undefined : await ofPath(path);
      },
    },
    ...given(app, ofPath),
  ]);
}

/** The data of a wave, which takes all items of a file; undefined when the user cancels. */
export async function chooseFile(
  app: App,
  _: DataPlace,
  target: string,
): Promise<ChosenData | undefined> {
  const whole: OfPath = (path) => Promise.resolve({ path, number: 1, isGiven: false });
  const last = lastData(app);
  const label = last?.isGiven === true ? textOf(last) : plain(basename(last?.path ?? ""));
  const options = (): OptionsRow[] => [
    argumentsRow(app, target),
    optionsRow(waveOptionsText(runOptions(app)), () => changeWaveOptions(app)),
  ];
  return await choose(app, vscode.l10n.t("Select the data of the wave"), options, whole, [
    ...(last === undefined ? [] : [source(last, label, () => Promise.resolve(last))]),
    {
      label: vscode.l10n.t("$(folder-opened) Select a File…"),
      choose: async () => {
        const path = await selectedFile();
        return path === undefined ? undefined : await whole(path);
      },
    },
    ...given(app, whole),
  ]);
}

function lastData(app: App): ChosenData | undefined {
  return app.context.workspaceState.get<ChosenData>(LAST);
}

async function choose(
  app: App,
  title: string,
  options: () => readonly OptionsRow[],
  ofPath: OfPath,
  sources: readonly Source[],
): Promise<ChosenData | undefined> {
  const rows = [...sources, ...options()].map((row) => ({ ...row, value: row }));
  const picked = await pickOrType<Source | OptionsRow>({
    title,
    placeholder: vscode.l10n.t("Select, or paste the path of a file"),
    rows: () => rows,
    understood: (text) =>
      understoodPath(text, "file", (path) => ({ label: path, choose: () => ofPath(path) })),
  });
  if (picked !== undefined && "change" in picked) {
    await picked.change();
    return await choose(app, title, options, ofPath, sources);
  }
  const chosen = await picked?.choose();
  if (chosen !== undefined) {
    await app.context.workspaceState.update(LAST, chosen);
  }
  return chosen;
}

function argumentsRow(app: App, target: string): OptionsRow {
  return {
    label: vscode.l10n.t("$(symbol-parameter) Arguments of the Class…"),
    description: shortened(plain(classArguments(app, target), 1000), LONGEST_LABEL),
    change: () => changeArguments(app, target),
  };
}

function optionsRow(description: string, change: OptionsRow["change"]): OptionsRow {
  return { label: vscode.l10n.t("$(gear) Options…"), description, change };
}

function source({ path }: ChosenData, label: string, work: Source["choose"]): Source {
  const description = vscode.l10n.t("last choice");
  return { label, description, detail: plain(path), choose: work };
}

/** "train.jsonl, item 3". */
export function textOf({ path, number, isGiven }: ChosenData): string {
  return isGiven
    ? vscode.l10n.t("Item that you entered")
    : vscode.l10n.t("{0}, item {1}", plain(basename(path)), number);
}

function others(app: App, place: DataPlace, last: ChosenData): Source[] {
  const label = vscode.l10n.t("Other Item of {0}…", plain(basename(last.path)));
  return last.isGiven ? [] : [{ label, choose: () => itemOf(app, place, last.path) }];
}

async function selectedFile(): Promise<string | undefined> {
  return await askForPath({
    title: vscode.l10n.t("Select the Data of the Agent"),
    openLabel: vscode.l10n.t("Select"),
    kind: "file",
    listed: "**/*.{jsonl,ndjson,parquet}",
    filters: {
      [vscode.l10n.t("Data")]: ["jsonl", "ndjson", "json", "parquet", "pq"],
      [vscode.l10n.t("All files")]: ["*"],
    },
  });
}

/** The only item of a file, or the one that the user selects from its first ones, or by its number. */
async function itemOf(app: App, place: DataPlace, path: string): Promise<ChosenData | undefined> {
  const { items } = await longWork(vscode.l10n.t("Reading the data"), (options) =>
    app.sidecar.request(ITEMS, { path, ...place }, options),
  );
  const only = items.length === 1 ? items[0] : undefined;
  const number = only === undefined ? await pickedNumber(path, items) : only.number;
  return number === undefined ? undefined : { path, number, isGiven: false };
}

async function pickedNumber(
  path: string,
  items: readonly { readonly number: number; readonly text: string }[],
): Promise<number | undefined> {
  const other = { label: vscode.l10n.t("Other Number…"), description: "", number: 0 };
  const rows = items.map(({ number, text }) => ({
    label: String(number),
    description: shortened(plain(text, 1000), LONGEST_LABEL),
    number,
  }));
  const picked = await vscode.window.showQuickPick([...rows, other], {
    title: vscode.l10n.t("Select an item of {0}", plain(basename(path))),
    matchOnDescription: true,
  });
  return picked === other ? await typedNumber() : picked?.number;
}

async function typedNumber(): Promise<number | undefined> {
  const isNumber = (text: string): boolean => /^[1-9]\d{0,9}$/.test(text.trim());
  const typed = await vscode.window.showInputBox({
    title: vscode.l10n.t("Number of the item"),
    validateInput: (text) =>
      isNumber(text) ? undefined : vscode.l10n.t("Enter a number of at least 1."),
  });
  return typed === undefined || !isNumber(typed) ? undefined : Number(typed);
}

/** Items of the clipboard, and those that the user types, as a choice of the file in which they are stored. */
function given(app: App, chosenOf: OfPath): Source[] {
  const stored = async (text: string): Promise<ChosenData | undefined> => {
    const { path } = await app.sidecar.request(STORE_ITEM, { text });
    const item = await chosenOf(path);
    return item === undefined ? undefined : { ...item, isGiven: true };
  };
  return [
    {
      label: vscode.l10n.t("$(clippy) Use the Clipboard"),
      choose: async () => await stored(await vscode.env.clipboard.readText()),
    },
    {
      label: vscode.l10n.t("$(edit) Enter an Item…"),
      choose: async () => {
        const text = await vscode.window.showInputBox({
          title: vscode.l10n.t("Enter the data item"),
          prompt: vscode.l10n.t("JSON, as `data` of `run`"),
          ignoreFocusOut: true,
        });
        return text === undefined || text.trim() === "" ? undefined : await stored(text);
      },
    },
  ];
}
