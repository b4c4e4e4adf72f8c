/** The choices of “Connect to Cluster…”: SLURM jobs, hosts of the ssh config, and the typed address. */

import { dotted, plain, roughDuration } from "../../common/texts";
import { addressBehind, addressProblem, hostProblem, remoteAddressProblem } from "./address";
import type { Choices, ConfiguredHost, Job } from "./messages";
import { jobLabels, timeLeft } from "./rows";

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
  | { readonly kind: "host"; readonly host: string }
  | { readonly kind: "lookForJobs"; readonly host: string | undefined };

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
  const hint = typed.trim() === "" ? undefined : addressProblem(typed);
  return filled([
    section("Address", [typedAddress(typed)]),
    section("Your running jobs", [
      ...running.map(jobChoice),
      ...(isComplete && running.length === 0 ? [noJobs(jobs)] : []),
    ]),
    section("Your pending jobs", pending.map(jobChoice)),
    section("Hosts of your ssh config", [
      ...hosts.map((host) => hostChoice(host, polled.includes(host.name))),
      ...(isComplete && hosts.length === 0 ? [NO_HOSTS] : []),
    ]),
    section("Elsewhere", [LOOK_ELSEWHERE, hint === undefined ? undefined : explaining(hint)]),
    section("What could not be asked", problems.map(problemChoice)),
  ]);
}

/** What is offered on an ssh host that was chosen. */
export function hostSections(host: string, isPolled: boolean, typed: string): readonly Section[] {
  const name = plain(host);
  const remote = typed.trim();
  const hint = remote === "" ? undefined : remoteAddressProblem(remote);
  const address = addressBehind(host, remote);
  return filled([
    section(`Behind ssh ${name}`, [
      address === undefined
        ? undefined
        : connectTo(address, `Connect to ${plain(remote)} from there`),
      ...(isPolled ? [] : [lookForJobs(host)]),
      connectTo(
        `ssh://${host}/8265`,
        "The dashboard at port 8265 of this host",
        "Ray’s usual port",
      ),
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
    section("Host", [
      host === "" || hint !== undefined || isConfigured ? undefined : lookForJobs(host, true),
    ]),
    section(
      "Hosts of your ssh config",
      hosts
        .filter(({ name }) => !polled.includes(name))
        .map((host) => ({ ...hostChoice(host, false), action: lookForJobsOn(host.name) })),
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

function typedAddress(typed: string): Choice | undefined {
  const address = typed.trim();
  return address === "" || addressProblem(address) !== undefined
    ? undefined
    : connectTo(address, `Connect to ${plain(address)}`);
}

function connectTo(address: string, label: string, description = ""): Choice {
  const action = { kind: "address" as const, address, title: `Connecting to ${plain(address)}` };
  return { label, description, detail: "", icon: "plug", action, isAlwaysShown: true };
}

function jobChoice(job: Job): Choice {
  const { label, where, nodes } = jobLabels(job);
  const { job: listed, ray } = job.status;
  const starts = job.starts_s === null ? "" : `starts in about ${roughDuration(job.starts_s)}`;
  const title = `Connecting to job ${plain(listed.id)} (${label})`;
  return {
    label,
    description: dotted(`job ${plain(listed.id)}`, where, nodes, timeLeft(job.time_left_s, 0)),
    detail: dotted(plain(job.sentence), isPending(job) ? plain(listed.reason) : "", starts),
    icon: { live: "server-environment", none: "server", unknown: "server" }[ray],
    action: { kind: "address", address: job.address, title },
  };
}

function hostChoice(host: ConfiguredHost, isPolled: boolean): Choice {
  return {
    label: plain(host.name),
    description: plain(host.detail),
    detail: isPolled ? "Your jobs there are listed above" : "",
    icon: "vm",
    action: { kind: "host", host: host.name },
  };
}

function lookForJobsOn(host: string): ChoiceAction {
  return { kind: "lookForJobs", host };
}

function lookForJobs(host: string, always = false): Choice {
  const label = `Look for my jobs on ${plain(host)}`;
  return {
    label,
    description: "SLURM",
    detail: "",
    icon: "search",
    action: lookForJobsOn(host),
    isAlwaysShown: always,
  };
}

const LOOK_ELSEWHERE: Choice = {
  label: "Look for my jobs on another host…",
  description: "through ssh",
  detail: "",
  icon: "search",
  action: { kind: "lookForJobs", host: undefined },
};

const NO_HOSTS: Choice = {
  label: "Your ssh config names no host",
  description: "",
  detail: "Type ssh://host/8265 to reach a dashboard behind one",
  icon: "info",
};

function noJobs(all: readonly Job[]): Choice {
  return {
    label: all.length === 0 ? "No SLURM job of yours was found" : "None of your jobs runs yet",
    description: "",
    detail: "Jobs are looked for here and on the hosts that you have added",
    icon: "info",
  };
}

function problemChoice({ message, next_step }: Choices["problems"][number]): Choice {
  return {
    label: plain(message, 500),
    description: "",
    detail: plain(next_step, 500),
    icon: "warning",
    isAlwaysShown: true,
  };
}

function explaining(hint: string): Choice {
  return { label: hint, description: "", detail: "", icon: "info", isAlwaysShown: true };
}
