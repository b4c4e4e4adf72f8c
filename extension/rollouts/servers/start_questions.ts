/** The questions before a server starts: its command, and the machine that it runs on. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain, shortened, type Verbatim } from "../../common/texts";
import { longWork } from "../../dialogs";
import { CHOICES, type Choices } from "../../clusters/messages";
import type { StartServer } from "./messages";

/** The command that a user completes with a model; the first word names the engine. */
const TEMPLATES: readonly (readonly [engine: Verbatim, command: Verbatim])[] = [
  ["vLLM", "vllm serve MODEL"],
  ["SGLang", "python -m sglang.launch_server --model-path MODEL"],
  ["llama.cpp", "llama-server --model MODEL.gguf"],
  [
    "AReaL (SGLang)",
    "python -m areal.experimental.inference_service.sglang.launch_server --model-path MODEL",
  ],
  ["AReaL (vLLM)", "python -m areal.engine.vllm_ext.areal_vllm_server --model MODEL"],
  ["Transformers", "transformers serve MODEL"],
  ["NeMo RL (vLLM)", "uv run --extra vllm vllm serve MODEL"],
];
const LONGEST_LABEL = 80;

/** Where a server runs; without any of them on this machine. */
export type Place = Pick<StartServer, "cluster" | "host" | "slurm">;

/** A line of a shell, or the address of a server that already runs, with its key. */
export type Subject =
  { readonly command: string } | { readonly url: string; readonly key: string } | undefined;

/** Proposes the `last` command. */
export async function askForServer(last: string): Promise<Subject> {
  const lastItem = {
    label: shortened(plain(last, 1000), LONGEST_LABEL),
    description: vscode.l10n.t("last command"),
    value: last,
  };
  const address = { label: vscode.l10n.t("Server That Already Runs…"), description: "", value: "" };
  const items = [
    ...(last === "" ? [] : [lastItem]),
    ...TEMPLATES.map(([engine, value]) => ({ label: engine, description: value, value })),
    { label: vscode.l10n.t("Other Command…"), description: "", value: "" },
    address,
  ];
  const picked = await vscode.window.showQuickPick(items, {
    // A worker that stops takes the focus.
    ignoreFocusOut: true,
    title: vscode.l10n.t("Select the engine of the server"),
  });
  if (picked === undefined) {
    return undefined;
  }
  return picked === address ? await askForAddress() : await askForCommand(picked.value);
}

async function askForCommand(value: string): Promise<Subject> {
  const at = value.indexOf("MODEL");
  const command = await vscode.window.showInputBox({
    title: vscode.l10n.t("Enter the command of the server"),
    prompt: vscode.l10n.t("Eagleray adds a local address, a free port and an API key."),
    value,
    ...(at < 0 ? {} : { valueSelection: [at, at + "MODEL".length] as [number, number] }),
    ignoreFocusOut: true,
  });
  return command === undefined || command.trim() === "" ? undefined : { command: command.trim() };
}

async function askForAddress(): Promise<Subject> {
  const url = await vscode.window.showInputBox({
    title: vscode.l10n.t("Enter the address of the server"),
    placeHolder: "http://127.0.0.1:8000/v1" satisfies Verbatim,
    ignoreFocusOut: true,
  });
  if (url === undefined || url.trim() === "") {
    return undefined;
  }
  const key = await vscode.window.showInputBox({
    title: vscode.l10n.t("Enter the API key of the server"),
    prompt: vscode.l10n.t("Leave it empty for a server without one."),
    password: true,
    ignoreFocusOut: true,
  });
  return key === undefined ? undefined : { url: url.trim(), key };
}

/** undefined if the user cancels. */
export async function askForPlace(app: App): Promise<Place | undefined> {
  const choices = await longWork(vscode.l10n.t("Listing hosts and jobs"), (options) =>
    app.sidecar.request(CHOICES, {}, options),
  );
  const other = { label: vscode.l10n.t("Other ssh Host…"), description: "", place: {} };
  const here = { label: vscode.l10n.t("This Machine"), description: "", place: {} };
  const items = [here, ...clustersOf(app), ...jobsOf(choices), ...hostsOf(choices), other];
  const picked = await vscode.window.showQuickPick(items, {
    ignoreFocusOut: true,
    title: vscode.l10n.t("Select where the server runs"),
  });
  if (picked !== other) {
    return picked?.place;
  }
  const host = await vscode.window.showInputBox({
    title: vscode.l10n.t("Enter a host as after `ssh`"),
    ignoreFocusOut: true,
  });
  return host === undefined || host.trim() === "" ? undefined : { host: host.trim() };
}

interface PlaceItem {
  readonly label: string;
  readonly description: string;
  readonly place: Place;
}

function clustersOf({ clusters }: App): PlaceItem[] {
  return clusters.value.clusters
    .filter(({ state }) => state === "connected")
    .map(({ id, name }) => ({
      label: plain(name),
      description: vscode.l10n.t("as a Ray job"),
      place: { cluster: id },
    }));
}

function jobsOf({ jobs }: Choices): PlaceItem[] {
  return jobs
    .filter(({ status }) => status.job.state === "running")
    .map(({ status: { host, job } }) => ({
      label: vscode.l10n.t("SLURM job {0}", plain(job.id)),
      description: plain(`${job.name} ${host}`.trim()),
      place: { slurm: host === "" ? job.id : `ssh://${host}/slurm://${job.id}` },
    }));
}

function hostsOf({ ssh_hosts }: Choices): PlaceItem[] {
  return ssh_hosts.map(({ name: host }) => ({
    label: plain(host),
    description: vscode.l10n.t("by ssh"),
    place: { host },
  }));
}
