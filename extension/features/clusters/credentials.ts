/** Credentials of clusters: the user enters them, the editor stores them, the sidecar gets them after each start. */

import * as vscode from "vscode";
import type { Memento, SecretStorage } from "vscode";

import { plain } from "../../common/texts";
import type { Sidecar } from "../../sidecar/sidecar";
import { SET_ACCESS } from "./messages";

/** A token, headers (a proxy's, say), the file of a private certificate authority; "" and {} are none. */
export interface Credentials {
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca_file: string;
}

const NONE: Credentials = { token: "", headers: {}, ca_file: "" };

const CLUSTERS = "eagleray.clustersWithCredentials";

/**
 * Tokens and headers lie in the editor's SecretStorage, which cannot list what it holds, so the ids of
 * their clusters are remembered beside it.
 */
export class CredentialStore {
  constructor(
    private readonly secrets: SecretStorage,
    private readonly remembered: Memento,
    private readonly sidecar: Sidecar,
    private readonly log: (line: string) => void,
  ) {}

  /** What is kept for the cluster. */
  async of(cluster: string): Promise<Credentials> {
    const kept = await this.secrets.get(secretName(cluster));
    return kept === undefined ? NONE : { ...NONE, ...(JSON.parse(kept) as Partial<Credentials>) };
  }

  /** Uses `changes` for the cluster, and keeps them once the cluster has been told. */
  async set(cluster: string, changes: Partial<Credentials>): Promise<void> {
    await this.sidecar.request(SET_ACCESS, { cluster, ...changes });
    await this.keep(cluster, changes);
  }

  async keep(cluster: string, changes: Partial<Credentials>): Promise<void> {
    const all = { ...(await this.of(cluster)), ...changes };
    if (all.token === "" && all.ca_file === "" && Object.keys(all.headers).length === 0) {
      await this.forget(cluster);
      return;
    }
    await this.secrets.store(secretName(cluster), JSON.stringify(all));
    await this.remember([...this.clusters().filter((one) => one !== cluster), cluster]);
  }

  async forget(cluster: string): Promise<void> {
    await this.secrets.delete(secretName(cluster));
    await this.remember(this.clusters().filter((one) => one !== cluster));
  }

  /** Tells the sidecar all of them. */
  async tell(): Promise<void> {
    for (const cluster of this.clusters()) {
      try {
        await this.sidecar.request(SET_ACCESS, { cluster, ...(await this.of(cluster)) });
      } catch (error) {
        // A cluster that is gone today may be back tomorrow, so what it asks for stays.
        this.log(`the credentials of ${cluster} were not taken: ${String(error)}`);
      }
    }
  }

  private clusters(): readonly string[] {
    return this.remembered.get<readonly string[]>(CLUSTERS) ?? [];
  }

  private async remember(clusters: readonly string[]): Promise<void> {
    await this.remembered.update(CLUSTERS, clusters);
  }
}

function secretName(cluster: string): string {
  return `eagleray.credentials ${cluster}`;
}

type CredentialKind = NonNullable<ReturnType<typeof askedBy>>;

/** What becomes of the credentials of a cluster that sends these headers already. */
type CredentialsChange = (headers: Credentials["headers"]) => Partial<Credentials>;

/**
 * What the person gave, for one cluster or for several; undefined when they closed the box.  `whose` is who it is
 * for, `names` are those of the headers that are sent already, and `why` is what the cluster said, if it did.
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

/** Adds one header or takes one back; their values are not shown. */
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

/** What to ask for after an error with this code; undefined for those that asking does not help. */
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

/** A header as a person writes it, `Name: value`. */
export function headerOf(written: string): readonly [name: string, value: string] | undefined {
  // What HTTP allows in a name; a line end in a value would begin another header.
  const match = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([\x20-\x7e]+?)\s*$/.exec(written);
  const [, name, value] = match ?? [];
  return name === undefined || value === undefined ? undefined : [name, value];
}

function headerProblem(written: string): string | undefined {
  return headerOf(written) === undefined ? "Write it as Name: value" : undefined;
}
