/** Lets the user choose the sides of a comparison: a server, a URL, a model in torch, or a dump. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { plain } from "../common/texts";
import { askForPath } from "../typed_paths";
import { LIST } from "./servers/messages";

const RECENT = "eagleray.comparedSides";
const MOST_RECENT = 5;

/** A side as the sidecar reads it; dumps bring their sequences along. */
export interface ComparedSide {
  readonly written: string;
  readonly isDump: boolean;
}

interface SideItem extends vscode.QuickPickItem {
  readonly choose?: () => Promise<ComparedSide | undefined>;
}

/** The side that the user chooses, which is listed first from then on; undefined if nothing is chosen. */
export async function chosenSide(app: App, title: string): Promise<ComparedSide | undefined> {
  const picked = await vscode.window.showQuickPick(sideItems(app), { title });
  const side = await picked?.choose?.();
  if (side !== undefined) {
    const others = recent(app).filter(({ written }) => written !== side.written);
    const stored = [side, ...others].slice(0, MOST_RECENT);
    await app.context.workspaceState.update(RECENT, stored);
  }
  return side;
}

async function sideItems(app: App): Promise<SideItem[]> {
  const { servers } = await app.sidecar.request(LIST, {});
  const live = servers.filter(({ state }) => state !== "stopped" && state !== "failed");
  const named = new Set(live.map(({ name }) => name));
  const earlier = recent(app).filter(({ written }) => !named.has(written));
  return [
    ...live.map(({ name, url, model }) =>
      given({ written: name, isDump: false }, name, plain(`${url} ${model}`.trim())),
    ),
    ...earlier.map((side) => given(side, plain(side.written), vscode.l10n.t("compared before"))),
    { label: vscode.l10n.t("URL of a Server…"), choose: typedUrl },
    { label: vscode.l10n.t("Model in torch…"), choose: chosenModel },
    { label: vscode.l10n.t("Dump with Token Ids and Logprobs…"), choose: chosenDump },
  ];
}

function given(side: ComparedSide, label: string, description: string): SideItem {
  return { label, description, choose: () => Promise.resolve(side) };
}

function recent(app: App): readonly ComparedSide[] {
  return app.context.workspaceState.get<readonly ComparedSide[]>(RECENT) ?? [];
}

async function typedUrl(): Promise<ComparedSide | undefined> {
  const typed = await vscode.window.showInputBox({
    title: vscode.l10n.t("URL of a Server"),
    value: "http://127.0.0.1:8000/v1",
    prompt: vscode.l10n.t("Its key is taken from OPENAI_API_KEY."),
    validateInput: (text) =>
      /^https?:\/\/\S+$/.test(text.trim())
        ? undefined
        : vscode.l10n.t("Enter an address such as http://127.0.0.1:8000/v1."),
  });
  return typed === undefined ? undefined : { written: typed.trim(), isDump: false };
}

/** The dtype of the weights, or the one of the training. */
async function chosenModel(): Promise<ComparedSide | undefined> {
  const folder = await askForPath({
    title: vscode.l10n.t("Select the Folder of the Model"),
    kind: "folder",
  });
  if (folder === undefined) {
    return undefined;
  }
  const dtypes = [
    { label: vscode.l10n.t("The Dtype of Its Weights"), dtype: "" },
    ...["bfloat16", "float16", "float32"].map((dtype) => ({ label: dtype, dtype })),
  ];
  const picked = await vscode.window.showQuickPick(dtypes, {
    title: vscode.l10n.t("Compute {0} with which dtype?", plain(basename(folder))),
  });
  if (picked === undefined) {
    return undefined;
  }
  const query = picked.dtype === "" ? "" : `?dtype=${picked.dtype}`;
  return { written: `torch:${folder}${query}`, isDump: false };
}

async function chosenDump(): Promise<ComparedSide | undefined> {
  const file = await askForPath({
    title: vscode.l10n.t("Select a Dump with Token Ids and Logprobs"),
    kind: "file",
    listed: "**/*.jsonl",
    filters: { [vscode.l10n.t("JSON lines")]: ["jsonl", "json"] },
  });
  return file === undefined ? undefined : { written: file, isDump: true };
}
