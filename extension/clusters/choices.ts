/** The choices of “Connect to Cluster…”: SLURM jobs, hosts of the ssh config, and the typed address. */

import { l10n } from "vscode";

import { dotted, plain, roughDuration } from "../common/texts";
import {
  addressBehind,
  addressProblem,
  hostProblem,
  meantAddresses,
  remoteAddressProblem,
} from "./address";
import type { Choices, ConfiguredHost, Job } from "./messages";
import { jobLabels, jobText, timeLeft } from "./tree_rows";

/** One line of the picker.  Without `action` it only explains, and Enter does nothing on it. */
export interface Choice {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly icon: string;
  readonly action?: ChoiceAction;
  /** Shown whatever is typed. */
  readonly isAlwaysShown?: boolean;
}

export type ChoiceAction =
  | { readonly kind: "address"; readonly address: string; readonly title: string }
  | { readonly kind: "edit"; readonly typed: string }
  | { readonly kind: "host"; readonly host: string }
  | { readonly kind: "loginNode"; readonly host: string | undefined }
  | { readonly kind: "showLog" };

export interface Section {
  readonly title: string;
  readonly choices: readonly Choice[];
}

/** `isComplete` is false while `choices` are only those known from the panel; `typed` is the text in the box. */
export function addSections(
  choices: Choices,
  isComplete: boolean,
  typed: string,
): readonly Section[] {
  const { jobs, ssh_hosts: hosts, polled_hosts: polled, problems } = choices;
  const running = jobs.filter((job) => !isPending(job)).sort(liveFirst);
  const pending = jobs.filter(isPending);
  const address = section(l10n.t("Address"), typedAddresses(typed));
  const names = [...hosts.map(({ name }) => name), ...jobs.map((job) => jobLabels(job).label)];
  // Part of a listed name isn’t an address.
  const text = typed.trim();
  const isName =
    text !== "" && addressProblem(text) !== undefined && names.some((name) => name.includes(text));
  return filled([
    ...(isName ? [] : [address]),
    section(l10n.t("Running SLURM jobs"), running.map(jobChoice)),
    section(l10n.t("Pending SLURM jobs"), pending.map(jobChoice)),
    section(l10n.t("SSH hosts"), [
      ...hosts.map((host) => hostChoice(host, polled.includes(host.name))),
      ...(isComplete && hosts.length === 0 ? [NO_HOSTS] : []),
    ]),
    section("SLURM", [
      ...(isComplete && jobs.length === 0 && problems.length === 0 && polled.length > 0
        ? [NO_JOBS]
        : []),
      ...problems.map(problemChoice),
      ADD_LOGIN_NODE,
    ]),
    ...(isName ? [address] : []),
  ]);
}

/** The choices on an ssh host that was chosen. */
export function hostSections(host: string, isPolled: boolean, typed: string): readonly Section[] {
  const name = plain(host);
  const remote = typed.trim();
  const hint = remote === "" ? undefined : remoteAddressProblem(remote);
  const address = addressBehind(host, remote);
  return filled([
    section(l10n.t("Through {0}", name), [
      address === undefined
        ? undefined
        : connectTo(address, l10n.t("Connect to {0}", plain(remote))),
      connectTo(`ssh://${host}/8265`, l10n.t("Connect to port 8265"), l10n.t("Ray's default port")),
      ...(isPolled ? [] : [watchForJobs(host)]),
      hint === undefined ? undefined : explaining(hint),
    ]),
  ]);
}

/** The hosts that can be added so that their jobs are listed. */
export function jobHostSections(
  { ssh_hosts: hosts, polled_hosts: polled }: Choices,
  typed: string,
): readonly Section[] {
  const host = typed.trim();
  const hint = host === "" ? undefined : hostProblem(host);
  const isConfigured = hosts.some(({ name }) => name === host);
  return filled([
    section(l10n.t("Host"), [
      host === "" || hint !== undefined || isConfigured ? undefined : watchForJobs(host, true),
    ]),
    section(
      l10n.t("SSH hosts"),
      hosts
        .filter(({ name }) => !polled.includes(name))
        .map((host) => ({ ...hostChoice(host, false), action: loginNode(host.name) })),
    ),
    section("", [hint === undefined ? undefined : explaining(hint)]),
  ]);
}

function filled(sections: readonly Section[]): readonly Section[] {
  return sections.filter(({ choices }) => choices.length > 0);
}

function section(title: string, choices: readonly (Choice | undefined)[]): Section {
  return { title, choices: choices.filter((choice) => choice !== undefined) };
}

/** Jobs with a Ray that answers come first, else in the order of the list. */
function liveFirst(a: Job, b: Job): number {
  return Number(b.status.ray === "live") - Number(a.status.ray === "live");
}

function isPending({ status }: Job): boolean {
  return status.job.state === "pending";
}

/** The addresses that the text may mean; an invalid one is corrected in a box with the reason. */
function typedAddresses(typed: string): readonly Choice[] {
  const address = typed.trim();
  if (address === "") {
    return [editChoice(l10n.t("Enter address…"), "", "edit")];
  }
  const problem = addressProblem(address);
  const label = l10n.t("Connect to {0}", plain(address));
  const written = problem === undefined ? [connectTo(address, label)] : [];
  const meant = meantAddresses(address).map(({ address, why }) =>
    connectTo(address, l10n.t("Connect to {0}", plain(address)), why),
  );
  // Ray's other ports answer nothing that Eagleray reads.
  const choices = /:(?:10001|6379)$/.test(address)
    ? [...meant, ...written]
    : [...written, ...meant];
  return problem === undefined || meant.length > 0
    ? choices
    : [
        {
          ...editChoice(l10n.t("Edit “{0}”…", plain(address)), address, "error"),
          detail: problem,
          isAlwaysShown: true,
        },
      ];
}

function editChoice(label: string, typed: string, icon: string): Choice {
  return { label, description: "", detail: "", icon, action: { kind: "edit", typed } };
}

function connectTo(address: string, label: string, description = ""): Choice {
  const action = addressAction(address);
  return { label, description, detail: "", icon: "plug", action, isAlwaysShown: true };
}

/** Connects to an address that the user wrote. */
export function addressAction(address: string): ChoiceAction & { readonly kind: "address" } {
  return { kind: "address", address, title: l10n.t("Connecting to {0}", plain(address)) };
}

/** "pending · BeginTime · starts in about 2 h". */
function jobChoice(job: Job): Choice {
  const { label, where, nodes } = jobLabels(job);
  const { ray } = job.status;
  const id = jobText(job);
  const starts = job.starts_s === null ? "" : l10n.t("starts in about {0}", roughly(job.starts_s));
  return {
    label,
    description: dotted(label === id ? "" : id, where, nodes, timeLeft(job.time_left_s, 0)),
    detail: dotted(plain(job.sentence), starts),
    icon: { live: "server-environment", none: "server", unknown: "server" }[ray],
    action: {
      kind: "address",
      address: job.address,
      title: connectingToJob(job),
    },
  };
}

export function connectingToJob(job: Job): string {
  return l10n.t("Connecting to job {0} ({1})", plain(job.status.job.id), jobLabels(job).label);
}

/** SLURM's own estimate isn't more exact. */
function roughly(seconds: number): string {
  const hours = seconds / 3600;
  if (hours >= 48) {
    return l10n.t("{0} days", Math.round(hours / 24));
  }
  return hours >= 1.5 ? l10n.t("{0} h", Math.round(hours)) : roughDuration(seconds);
}

function hostChoice(host: ConfiguredHost, isPolled: boolean): Choice {
  return {
    label: plain(host.name),
    description: plain(host.detail),
    detail: isPolled ? l10n.t("Its SLURM jobs are listed above") : "",
    icon: "vm",
    action: { kind: "host", host: host.name },
  };
}

function loginNode(host: string): ChoiceAction {
  return { kind: "loginNode", host };
}

function watchForJobs(host: string, always = false): Choice {
  return {
    label: l10n.t("Watch {0} for SLURM jobs", plain(host)),
    description: "",
    detail: "",
    icon: "search",
    action: loginNode(host),
    isAlwaysShown: always,
  };
}

const ADD_LOGIN_NODE: Choice = {
  label: l10n.t("Add SLURM login node…"),
  description: l10n.t("through SSH"),
  detail: "",
  icon: "add",
  action: { kind: "loginNode", host: undefined },
};

const NO_HOSTS: Choice = {
  label: l10n.t("No hosts in ~/.ssh/config"),
  description: "",
  detail: l10n.t("Enter ssh://host/8265 to connect through another host"),
  icon: "info",
};

const NO_JOBS: Choice = {
  label: l10n.t("No SLURM jobs"),
  description: "",
  detail: "",
  icon: "info",
};

/** The raw output of SLURM is in the log only. */
function problemChoice({ message }: Choices["problems"][number]): Choice {
  return {
    label: plain(message),
    description: "",
    detail: l10n.t("Select to show the log"),
    icon: "warning",
    action: { kind: "showLog" },
  };
}

function explaining(hint: string): Choice {
  return { label: hint, description: "", detail: "", icon: "info", isAlwaysShown: true };
}
