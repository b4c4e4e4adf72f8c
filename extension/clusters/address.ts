/** Recognizes the address of a cluster while it is typed; the sidecar validates the rest. */

import { l10n } from "vscode";

import { plain } from "../common/texts";

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
    const [first, second] = meantAddresses(address).map((meant) => plain(meant.address));
    if (first === undefined) {
      return WANTED;
    }
    return second === undefined
      ? l10n.t("Enter {0}.", first)
      : l10n.t("Enter {0} or {1}.", first, second);
  }
  const port = /(?:^|[:/])(\d{1,5})$/.exec(address)?.[1];
  const isJob = /slurm:\/\/\S+$/.test(address);
  return port !== undefined && !isJob && (Number(port) < 1 || Number(port) > 65_535)
    ? l10n.t("Enter a port from 1 to 65535.")
    : undefined;
}

/** An address of a dashboard, and what it has to do with the typed text. */
interface MeantAddress {
  readonly address: string;
  readonly why: string;
}

/** Ray's defaults: `ray.init("ray://head:10001")` and `ray start --address=head:6379`. */
const OTHER_PORTS: Readonly<Record<string, string>> = {
  "10001": l10n.t("10001 is the port of Ray Client."),
  "6379": l10n.t("6379 is the port of Ray’s GCS."),
};
const DASHBOARD_PORT = l10n.t("Ray’s dashboard has port 8265.");
const THROUGH_SSH = l10n.t("Through SSH.");

/** The addresses that other texts mean: hosts without a port, Ray's other ports, and IDs of SLURM jobs. */
export function meantAddresses(typed: string): readonly MeantAddress[] {
  const text = typed.trim().replace(/^ray:\/\//, "");
  const [, host = "", port = ""] = new RegExp(`^(${HOST})(?::(${PORT}))?/?$`).exec(text) ?? [];
  const login = new RegExp(`^(?:ssh://)?(${DESTINATION})/?$`).exec(typed.trim())?.[1] ?? "";
  if (new RegExp(`^${JOB}$`).test(text)) {
    // A shorter number is a port; one of five digits may be either.
    const why = l10n.t("The SLURM job {0}.", text);
    return text.length > 4 ? [{ address: `slurm://${text}`, why }] : [];
  }
  if (host !== "" && (typed.startsWith("ray://") || port in OTHER_PORTS)) {
    const why = OTHER_PORTS[port || "10001"] ?? l10n.t("ray:// is for Ray Client.");
    return [{ address: `${host}:8265`, why: `${why} ${DASHBOARD_PORT}` }];
  }
  // The ID of a job of Ray names no cluster.
  const isRayJob = text.startsWith("raysubmit_");
  const isLocal = login === "localhost" || login.startsWith("127.");
  return port !== "" || isRayJob || /:\d+$/.test(login)
    ? []
    : [
        ...(host === "" ? [] : [{ address: `${host}:8265`, why: DASHBOARD_PORT }]),
        ...(login === "" || isLocal ? [] : [{ address: `ssh://${login}/8265`, why: THROUGH_SSH }]),
      ];
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
