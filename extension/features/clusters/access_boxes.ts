/** Asks the person for what a cluster wants before it answers. */

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { Credentials } from "./access";
import { headerOf, headerProblem, type askedBy } from "./access_texts";

type Wanted = NonNullable<ReturnType<typeof askedBy>>;

/** What becomes of the credentials of a cluster that sends these headers already. */
export type Change = (headers: Credentials["headers"]) => Partial<Credentials>;

/**
 * What the person gave, for one cluster or for several; undefined when they closed the box.  `whose` is who it is
 * for, `names` are those of the headers that are sent already, and `why` is what the cluster said, if it did.
 */
export async function askFor(
  wanted: Wanted,
  whose: string,
  names: readonly string[],
  why = "",
): Promise<Change | undefined> {
  switch (wanted) {
    case "token":
      return as("token", await askToken(whose, why));
    case "headers":
      return await askHeaders(whose, names, why);
    case "ca_file":
      return as("ca_file", await askCertificates(whose, why));
  }
}

function as(key: "token" | "ca_file", value: string | undefined): Change | undefined {
  return value === undefined ? undefined : () => ({ [key]: value });
}

/** An empty answer forgets the token; Escape changes nothing. */
function askToken(whose: string, why: string): Thenable<string | undefined> {
  const kept = "Kept by the editor, and sent nowhere else. Leave it empty to forget it.";
  return vscode.window.showInputBox({
    title: `Token of ${plain(whose)}`,
    prompt: `${plain(why, 300)} ${kept}`.trim(),
    password: true,
    ignoreFocusOut: true,
  });
}

/** Adds one header or takes one back; their values are not shown. */
async function askHeaders(
  whose: string,
  names: readonly string[],
  why: string,
): Promise<Change | undefined> {
  const title = `Headers for ${plain(whose)}`;
  const forget = names.map((name) => ({ label: `Forget ${name}`, name }));
  const add = { label: "Add a header…", name: undefined };
  const picked =
    names.length === 0 ? add : await vscode.window.showQuickPick([add, ...forget], { title });
  if (picked?.name !== undefined) {
    return (headers) => ({
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== picked.name)),
    });
  }
  const written =
    picked &&
    (await vscode.window.showInputBox({
      title,
      prompt: `${plain(why, 300)} Kept by the editor, and sent only to the proxy there.`.trim(),
      placeHolder: "Authorization: Basic …",
      password: true,
      validateInput: headerProblem,
      ignoreFocusOut: true,
    }));
  const header = written === undefined ? undefined : headerOf(written);
  return header && ((headers) => ({ headers: { ...headers, [header[0]]: header[1] } }));
}

async function askCertificates(whose: string, why: string): Promise<string | undefined> {
  const choose = { label: "Choose a file…", description: "certificates as PEM", forget: false };
  const forget = { label: "Use those of this machine", description: "no file", forget: true };
  const picked = await vscode.window.showQuickPick([choose, forget], {
    title: `Certificate authority of ${plain(whose)}`,
    placeHolder: plain(why, 300),
    ignoreFocusOut: true,
  });
  if (picked?.forget !== false) {
    return picked && "";
  }
  const chosen = await vscode.window.showOpenDialog({
    title: `Certificate authority of ${plain(whose)}`,
    openLabel: "Trust for This Cluster",
    canSelectMany: false,
  });
  return chosen?.[0]?.fsPath;
}
