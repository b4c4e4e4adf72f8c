/** Asks the person for what a cluster wants before it answers. */

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { Credentials } from "./access";
import { headerOf, headerProblem, type askedBy } from "./access_texts";

type Wanted = NonNullable<ReturnType<typeof askedBy>>;

/** What the person gave; undefined when they closed the box.  `why` is what the cluster said, if it did. */
export async function askFor(
  wanted: Wanted,
  cluster: string,
  present: Credentials["headers"],
  why = "",
): Promise<Partial<Credentials> | undefined> {
  switch (wanted) {
    case "token":
      return as("token", await askToken(cluster, why));
    case "headers":
      return as("headers", await askHeaders(cluster, present, why));
    case "ca_file":
      return as("ca_file", await askCertificates(cluster, why));
  }
}

function as<K extends Wanted>(
  key: K,
  value: Credentials[K] | undefined,
): Partial<Credentials> | undefined {
  return value === undefined ? undefined : { [key]: value };
}

/** An empty answer forgets the token; Escape changes nothing. */
function askToken(cluster: string, why: string): Thenable<string | undefined> {
  const kept = "Kept by the editor, and sent only to this cluster. Leave it empty to forget it.";
  return vscode.window.showInputBox({
    title: `Token of ${plain(cluster)}`,
    prompt: `${plain(why, 300)} ${kept}`.trim(),
    password: true,
    ignoreFocusOut: true,
  });
}

/** Adds one header or takes all back; their values are not shown. */
async function askHeaders(
  cluster: string,
  present: Credentials["headers"],
  why: string,
): Promise<Credentials["headers"] | undefined> {
  const names = Object.keys(present);
  const title = `Headers for ${plain(cluster)}`;
  const forget = names.map((name) => ({ label: `Forget ${name}`, name }));
  const add = { label: "Add a header…", name: undefined };
  const picked =
    names.length === 0 ? add : await vscode.window.showQuickPick([add, ...forget], { title });
  if (picked?.name !== undefined) {
    return Object.fromEntries(Object.entries(present).filter(([name]) => name !== picked.name));
  }
  const written =
    picked &&
    (await vscode.window.showInputBox({
      title,
      prompt:
        `${plain(why, 300)} Kept by the editor, and sent only to this cluster’s proxy.`.trim(),
      placeHolder: "Authorization: Basic …",
      password: true,
      validateInput: headerProblem,
      ignoreFocusOut: true,
    }));
  const header = written === undefined ? undefined : headerOf(written);
  return header && { ...present, [header[0]]: header[1] };
}

async function askCertificates(cluster: string, why: string): Promise<string | undefined> {
  const choose = { label: "Choose a file…", description: "certificates as PEM", forget: false };
  const forget = { label: "Use those of this machine", description: "no file", forget: true };
  const picked = await vscode.window.showQuickPick([choose, forget], {
    title: `Certificate authority of ${plain(cluster)}`,
    placeHolder: plain(why, 300),
    ignoreFocusOut: true,
  });
  if (picked?.forget !== false) {
    return picked && "";
  }
  const chosen = await vscode.window.showOpenDialog({
    title: `Certificate authority of ${plain(cluster)}`,
    openLabel: "Trust for This Cluster",
    canSelectMany: false,
  });
  return chosen?.[0]?.fsPath;
}
