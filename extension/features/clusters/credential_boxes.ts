/** Asks the user for the credentials that a cluster needs; read when they are asked for. */

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { Credentials } from "./credentials";

type CredentialKind = NonNullable<ReturnType<typeof askedBy>>;

/** The change of the credentials of a cluster with these headers. */
export type CredentialsChange = (headers: Credentials["headers"]) => Partial<Credentials>;

/**
 * The change that the user enters, for one cluster or several; undefined when they close the box.  `whose` names the
 * clusters, `names` are those of the headers that are already sent, and `why` is the message of the cluster, if any.
 */
export async function askFor(
  wanted: CredentialKind,
  whose: string,
  names: readonly string[],
  why = "",
): Promise<CredentialsChange | undefined> {
  switch (wanted) {
    case "token":
      return as("token", await askToken(whose, why));
    case "headers":
      return await askHeaders(whose, names, why);
    case "ca_file":
      return as("ca_file", await askCertificates(whose, why));
  }
}

function as(key: "token" | "ca_file", value: string | undefined): CredentialsChange | undefined {
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

/** Adds or removes one header; values are not shown. */
async function askHeaders(
  whose: string,
  names: readonly string[],
  why: string,
): Promise<CredentialsChange | undefined> {
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

/** The credentials that would fix an error with this code; undefined for other errors. */
export function askedBy(code: string): "token" | "headers" | "ca_file" | undefined {
  switch (code) {
    case "token-needed":
    case "token-refused":
    case "token-expired":
      return "token";
    case "proxy-refused":
      return "headers";
    case "ca-needed":
    case "bad-ca-file":
      return "ca_file";
    default:
      return undefined;
  }
}

/** Parses a header, `Name: value`. */
export function headerOf(written: string): readonly [name: string, value: string] | undefined {
  // What HTTP allows in a name; a line end in a value would begin another header.
  const match = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([\x20-\x7e]+?)\s*$/.exec(written);
  const [, name, value] = match ?? [];
  return name === undefined || value === undefined ? undefined : [name, value];
}

function headerProblem(written: string): string | undefined {
  return headerOf(written) === undefined ? "Write it as Name: value" : undefined;
}
