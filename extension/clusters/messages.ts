// Printed from pybackend/eagleray/clusters/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../common/wire";

export const LIST = request<Nothing, Clusters>("eagleray/clusters/list");
export const ADD = request<AddCluster, Cluster>("eagleray/clusters/add");
export const REMOVE = request<ClusterRef, Nothing>("eagleray/clusters/remove");
export const RENAME = request<RenameCluster, Cluster>("eagleray/clusters/rename");
export const DASHBOARD = request<ClusterRef, DashboardPage>("eagleray/clusters/dashboard");
export const SET_ACCESS = request<Access, Cluster>("eagleray/clusters/setAccess");
export const REFRESH = request<Nothing, Clusters>("eagleray/clusters/refresh");
export const ID_OF = request<ClusterRef, ClusterRef>("eagleray/clusters/idOf");
export const CHANGED = notification<Clusters>("eagleray/clusters/changed");
export const CHOICES = request<Nothing, Choices>("eagleray/clusters/choices");
export const LOOK_AT = request<HostRef, Clusters>("eagleray/clusters/lookAt");
export const FORGET_HOST = request<HostRef, Clusters>("eagleray/clusters/forgetHost");
export const RECONNECT = request<ClusterRef, Nothing>("eagleray/clusters/reconnect");
export const TERMINAL = request<TerminalRef, Terminal>("eagleray/clusters/terminal");
export const QUESTION = notification<SshQuestion>("eagleray/clusters/question");
export const QUESTION_OVER = notification<QuestionRef>("eagleray/clusters/questionOver");
export const ANSWER = request<QuestionAnswer, Nothing>("eagleray/clusters/answer");

/**
 * An ssh host that the user added so that their jobs there are listed.
 *
 * It is the displayed part of `HostStatus`, whose error becomes the problem and whose schedule stays in the sidecar.
 */
export interface JobHost {
  readonly host: string;
  readonly state: "ok" | "asking" | "failing";
  readonly problem: ClusterProblem | null;
}

/**
 * All clusters; `hints` are why there is none, or what was ignored.
 *
 * `jobs` are running ones with a live Ray that aren't clusters of the list yet.
 */
export interface Clusters {
  readonly clusters: readonly Cluster[];
  readonly hints: readonly ClusterProblem[];
  readonly jobs: readonly Job[];
  readonly hosts: readonly JobHost[];
}

/**
 * `address`: `8265`, `host:8265`, `http(s)://…`, `ssh://HOST/8265`, `ssh://HOST/node:8265`, `slurm://JOB`,
 * `ssh://HOST/slurm://JOB`.  `anyway`: without a check that a Ray dashboard answers there.  The rest only if the user
 * gave it, see `Access`.
 */
export interface AddCluster {
  readonly address: string;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>> | null;
  readonly ca_file?: string | null;
  readonly anyway?: boolean;
}

/** A cluster by its id. */
export interface ClusterRef {
  readonly cluster: string;
}

/** The name under which the user wants to see a cluster; "" restores its own. */
export interface RenameCluster {
  readonly cluster: string;
  readonly name: string;
}

/**
 * Credentials for a cluster; None leaves a value as it is, an empty value removes it.
 *
 * The editor stores them (tokens and headers in SecretStorage) and sends them after each start.
 */
export interface Access {
  readonly cluster: string;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>> | null;
  readonly ca_file?: string | null;
}

/** An ssh host, as in `ssh HOST`. */
export interface HostRef {
  readonly host: string;
}

/** A node of a cluster by Ray's node id; "" is the head. */
export interface TerminalRef {
  readonly cluster: string;
  readonly node_id?: string;
}

/** A question that is over: answered in another window, or given up by ssh. */
export interface QuestionRef {
  readonly id: number;
}

/**
 * A problem of a cluster, and the fix; `retries`: Eagleray retries automatically.
 *
 * `output` is what ssh, srun or squeue printed, "" for other problems.
 */
export interface ClusterProblem {
  readonly code: string;
  readonly message: string;
  readonly next_step: string;
  readonly retries: boolean;
  readonly output: string;
}

/**
 * The route to a cluster that is not reached directly, and its state.
 *
 * `via`: "login", "job 12345 on node-1", "job 12345 on node-1, through login".  `sentence` is the reason of the state,
 * "" when all is well; `message` the last message of ssh or srun.
 */
export interface ClusterRoute {
  readonly kind: "direct" | "ssh" | "srun";
  readonly via: string;
  readonly state: "connecting" | "ready" | "degraded" | "lost" | "reconnecting";
  readonly sentence: string;
  readonly message: string;
}

/**
 * A Ray cluster as the panel shows it.
 *
 * `id` is opaque: the normalised address of a dashboard, alone or behind an ssh host, or a SLURM job. `origin` "added"
 * also for one that was named on the command line.  `sentence` describes the status ("Connected, Ray 2.60.0, 6 workers,
 * none paused").  `session` is Ray's session name, or "" before the first answer; everything that is remembered of a
 * cluster is keyed by it.  `route` is None for one that is reached directly.  `run` is the id of the run that has
 * started it and ends it, "" for none.  `stops` and `workers` count as `sentence` does, -1 workers are not yet known.
 */
export interface Cluster {
  readonly job: string;
  readonly host: string;
  readonly time_left_s: number | null;
  readonly time_warning: string;
  readonly stops: StopCounts;
  readonly is_pending: boolean;
  readonly id: string;
  readonly name: string;
  readonly origin: "own" | "added";
  readonly state: "connecting" | "connected" | "unreachable" | "unauthorized" | "not-ray" | "failing";
  readonly session: string;
  readonly ray_version: string;
  readonly sentence: string;
  readonly problems: readonly ClusterProblem[];
  readonly route: ClusterRoute | null;
  readonly run: string;
  readonly workers: number;
}

/** A job as `host` ("" for this machine) listed it at `at` (of the clock), and whether a Ray answers in it. */
export interface JobStatus {
  readonly host: string;
  readonly job: SlurmJob;
  readonly at: number;
  readonly ray: "live" | "none" | "unknown";
  readonly ray_version: string;
}

/**
 * A SLURM job as the panel shows it: its status, and what is computed from that when it is sent.
 *
 * `address` is what `AddCluster` takes, and the id of its cluster once it was added.  `starts_s`: seconds until SLURM
 * expects a pending job to start.
 */
export interface Job {
  readonly status: JobStatus;
  readonly address: string;
  readonly sentence: string;
  readonly time_left_s: number | null;
  readonly starts_s: number | null;
}

/**
 * The choices to add: the user's jobs, and the hosts of the ssh config with those whose jobs are polled.
 *
 * `problems` are failed polls.
 */
export interface Choices {
  readonly jobs: readonly Job[];
  readonly ssh_hosts: readonly ConfiguredHost[];
  readonly polled_hosts: readonly string[];
  readonly problems: readonly ClusterProblem[];
}

/**
 * The page of Ray's dashboard, for a browser on this machine.
 *
 * `asks_for`: what the browser has to give besides, since credentials are never put into an address.
 */
export interface DashboardPage {
  readonly url: string;
  readonly asks_for: "nothing" | "token" | "headers";
}

/** A terminal to open: `argv` runs as it is, without a shell, with `env` added. */
export interface Terminal {
  readonly title: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** `paused` workers wait for a debugger, `held` ones are kept by an adapter, and editors debug the others. */
export interface StopCounts {
  readonly paused: number;
  readonly held: number;
  readonly debugging: number;
}

/** A question of ssh.  `secret`: not shown while it is typed; a "notice" wants no answer (touch the key). */
export interface SshQuestion {
  readonly id: number;
  readonly ssh: string;
  readonly prompt: string;
  readonly kind: "text" | "secret" | "confirm" | "notice";
}

/** The answer that the user typed, None if cancelled.  It is never stored. */
export interface QuestionAnswer {
  readonly id: number;
  readonly text: string | null;
}

/**
 * A job of the user as `squeue` lists it; its texts are untrusted data of the submitter.
 *
 * `word` is SLURM's own word for the state.  `nodelist` is not expanded, "" while the job has no nodes. `exclusive`: no
 * other job can run on its nodes; `checked`: a second query has confirmed or denied that. `started`: its start, or
 * expected start, in seconds since the epoch; 0 if it is unknown.
 */
export interface SlurmJob {
  readonly id: string;
  readonly name: string;
  readonly word: string;
  readonly state: "running" | "pending" | "ending" | "over";
  readonly reason: string;
  readonly partition: string;
  readonly nodelist: string;
  readonly node_count: number;
  readonly time_left_s: number | null;
  readonly ran_s: number;
  readonly started: number;
  readonly exclusive: boolean;
  readonly checked: boolean;
}

/** A host of the config; `detail` is "alice@10.0.0.1", as far as its own section has the values. */
export interface ConfiguredHost {
  readonly name: string;
  readonly detail: string;
}
