/** Recognizes the address of a cluster while it is typed; the sidecar validates the rest. */

import { l10n } from "vscode";

const HOST = String.raw`(?:\[[0-9a-fA-F:.]+\]|[^\s:/@?#-][^\s:/@?#]*)`;
const PORT = String.raw`\d{1,5}`;
const JOB = String.raw`\d{1,10}(?:_\d{1,10})?(?:\+\d{1,5})?`;
const DASHBOARD = String.raw`https?://[^\s/@?#]+[^\s@?#]*(?:#\S*)?`;
/** A destination that ssh takes: an alias or user@host; never text that it would take for an option. */
const DESTINATION = String.raw`[A-Za-z0-9_.%+\[\]][A-Za-z0-9_.:%+@\[\]-]*`;

const FORMS: readonly RegExp[] = [
  PORT,
  `${HOST}:${PORT}`,
  DASHBOARD,
  `slurm://${JOB}`,
  `ssh://${DESTINATION}/(?:${PORT}|${HOST}:${PORT}|${DASHBOARD}|slurm://${JOB})`,
].map((form) => new RegExp(`^${form}$`));

const WANTED = l10n.t(
  "Enter a port (8265), host:port, http(s)://…, ssh://host/8265 or slurm://job.",
);

/** Why the typed text can't be an address; undefined if it looks like one. */
export function addressProblem(typed: string): string | undefined {
  const address = typed.trim();
  if (!FORMS.some((form) => form.test(address))) {
    return WANTED;
  }
  const port = /(?:^|[:/])(\d{1,5})$/.exec(address)?.[1];
  const isJob = /slurm:\/\/\S+$/.test(address);
  return port !== undefined && !isJob && (Number(port) < 1 || Number(port) > 65_535)
    ? l10n.t("Enter a port from 1 to 65535.")
    : undefined;
}

/** Why the typed text can't be a host of ssh. */
export function hostProblem(typed: string): string | undefined {
  return new RegExp(`^${DESTINATION}$`).test(typed.trim())
    ? undefined
    : l10n.t("Enter a host name, user@host, or an alias of your SSH config.");
}

/** Why the typed text can't be an address behind an ssh host: a port of it, or host:port as it resolves them. */
export function remoteAddressProblem(typed: string): string | undefined {
  return addressBehind("host", typed) === undefined
    ? l10n.t("Enter a port (8265), host:port or slurm://job, as that host knows it.")
    : undefined;
}

/** The full address of the typed one behind the ssh host `host`; undefined if it isn't valid. */
export function addressBehind(host: string, typed: string): string | undefined {
  const remote = typed.trim();
  const address = `ssh://${host}/${remote}`;
  return remote.startsWith("ssh://") || addressProblem(address) !== undefined ? undefined : address;
}
