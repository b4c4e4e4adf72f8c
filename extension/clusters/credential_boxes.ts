/** Asks the user for the credentials that a cluster needs; read when they are asked for. */

import * as vscode from "vscode";

import { plain } from "../common/texts";
import type { Credentials } from "./credentials";

type CredentialKind = NonNullable<ReturnType<typeof askedBy>>;

/** The change of the credentials of a cluster with these headers. */
export type CredentialsChange = (headers: Credentials["headers"]) => Partial<Credentials>;

/**
 * The change that the user enters, for one cluster or several; undefined when they close the box.  `whose` names the
 * clusters, `names` are the names of the headers that are already sent, and `why` is the message of the cluster, if
 * any.
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
  const kept = vscode.l10n.t("The editor stores it. Leave empty to remove it.");
  return vscode.window.showInputBox({
    title: vscode.l10n.t("Token for {0}", plain(whose)),
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
  const title = vscode.l10n.t("Headers for {0}", plain(whose));
  const forget = names.map((name) => ({ label: vscode.l10n.t("Remove {0}", name), name }));
  const add = { label: vscode.l10n.t("Add header…"), name: undefined };
  const picked =
    names.length === 0 ? add : await vscode.window.showQuickPick([add, ...forget], { title });
  if (picked?.name !== undefined) {
    return (headers) => ({
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== picked.name)),
    });
  }
  const stored = vscode.l10n.t("The editor stores it and sends it only to this cluster.");
  const written =
    picked &&
    (await vscode.window.showInputBox({
      title,
      prompt: `${plain(why, 300)} ${stored}`.trim(),
      placeHolder: vscode.l10n.t("For example, Authorization: Basic …"),
      password: true,
      validateInput: headerProblem,
      ignoreFocusOut: true,
    }));
  const header = written === undefined ? undefined : headerOf(written);
  return header && ((headers) => ({ headers: { ...headers, [header[0]]: header[1] } }));
}

async function askCertificates(whose: string, why: string): Promise<string | undefined> {
  const choose = {
    label: vscode.l10n.t("Select a file…"),
    description: vscode.l10n.t("certificates as PEM"),
    forget: false,
  };
  const forget = {
    label: vscode.l10n.t("Use the certificates of this machine"),
    description: vscode.l10n.t("no file"),
    forget: true,
  };
  const title = vscode.l10n.t("Certificate authority of {0}", plain(whose));
  const picked = await vscode.window.showQuickPick([choose, forget], {
    title,
    placeHolder: plain(why, 300),
    ignoreFocusOut: true,
  });
  if (picked?.forget !== false) {
    return picked && "";
  }
  const chosen = await vscode.window.showOpenDialog({
    title,
    openLabel: vscode.l10n.t("Trust for This Cluster"),
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
  // The characters that HTTP allows in a name; a line end in a value would begin another header.
  const match = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([\x20-\x7e]+?)\s*$/.exec(written);
  const [, name, value] = match ?? [];
  return name === undefined || value === undefined ? undefined : [name, value];
}

function headerProblem(written: string): string | undefined {
  return headerOf(written) === undefined
    ? vscode.l10n.t("Enter a header as Name: value.")
    : undefined;
}
