// Printed from pybackend/eagleray/features/clusters/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../../common/wire";

export const LIST = request<Nothing, Clusters>("eagleray/clusters/list");
export const ADD = request<AddCluster, Cluster>("eagleray/clusters/add");
export const REMOVE = request<ClusterRef, Nothing>("eagleray/clusters/remove");
export const SET_ACCESS = request<Access, Cluster>("eagleray/clusters/setAccess");
export const REFRESH = request<Nothing, Clusters>("eagleray/clusters/refresh");
export const ID_OF = request<ClusterRef, ClusterRef>("eagleray/clusters/idOf");
export const CHANGED = notification<Clusters>("eagleray/clusters/changed");
export const CHOICES = request<Nothing, Choices>("eagleray/clusters/choices");
export const LOOK_AT = request<HostRef, Clusters>("eagleray/clusters/lookAt");
export const FORGET_HOST = request<HostRef, Clusters>("eagleray/clusters/forgetHost");
export const RECONNECT = request<ClusterRef, Nothing>("eagleray/clusters/reconnect");
export const TERMINAL = request<TerminalRef, Terminal>("eagleray/clusters/terminal");
export const QUESTION = notification<Question>("eagleray/clusters/question");
export const QUESTION_OVER = notification<QuestionRef>("eagleray/clusters/questionOver");
export const ANSWER = request<Answer, Nothing>("eagleray/clusters/answer");

/** Something that stands in the way of a cluster, with what to do about it. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly next_step: string;
}

/**
 * A Ray cluster as the panel shows it.
 *
 * `id` is opaque: the normalised address of a dashboard, alone or beyond an ssh host, or a SLURM
 * job.
 * `sentence` says what we see ("Ray 2.60.0, 6 workers, none paused").  `session` is Ray's session
 * name, or
 * "" before the first answer; all that we remember of a cluster is keyed by it.  `route` is None
 * for one
 * that is reached directly.  `job` and `host` (an ssh destination) are "" for one without.
 * `time_left_s`
 * is that of its job when this was sent; `time_warning` is a sentence while that is nearly up
 * and somebody stands at a breakpoint, "" otherwise.
 */
export interface Cluster {
  readonly id: string;
  readonly name: string;
  readonly origin: "own" | "added";
  readonly state: "connecting" | "connected" | "unreachable" | "unauthorized" | "not-ray" | "failing";
  readonly session: string;
  readonly ray_version: string;
  readonly sentence: string;
  readonly problems: readonly Problem[];
  readonly route: ClusterRoute | null;
  readonly job: string;
  readonly host: string;
  readonly time_left_s: number | null;
  readonly time_warning: string;
}

/**
 * A SLURM job of the user's own.
 *
 * `address` is what `AddCluster` takes, and the id of its cluster once it was added.  `host` is
 * the ssh
 * destination where it was seen, "" for here.  `ray`: whether a Ray dashboard answers in it.
 * `nodes`
 * counts them.  `starts_s`: seconds until SLURM expects a pending job to start.
 */
export interface Job {
  readonly address: string;
  readonly job: string;
  readonly host: string;
  readonly name: string;
  readonly partition: string;
  readonly state: "running" | "pending" | "other";
  readonly reason: string;
  readonly nodes: number;
  readonly sentence: string;
  readonly ray: "live" | "none" | "unknown";
  readonly time_left_s: number | null;
  readonly starts_s: number | null;
}

/** An ssh host that the user added to have their jobs looked for there. */
export interface JobHost {
  readonly host: string;
  readonly state: "ok" | "asking" | "failing";
  readonly sentence: string;
}

/**
 * All known clusters; `hints` say why there is none, or what was seen and left alone.
 *
 * `jobs`: running ones that hold a live Ray and are no clusters of the list yet.
 */
export interface Clusters {
  readonly clusters: readonly Cluster[];
  readonly hints: readonly Problem[];
  readonly jobs: readonly Job[];
  readonly hosts: readonly JobHost[];
}

/** A host that the user's ssh config names; `looked_at`: their jobs are looked for there. */
export interface SshHost {
  readonly name: string;
  readonly detail: string;
  readonly looked_at: boolean;
}

/** What can be added: the user's jobs and hosts of the ssh config; `problems` are failed polls. */
export interface Choices {
  readonly jobs: readonly Job[];
  readonly ssh_hosts: readonly SshHost[];
  readonly problems: readonly Problem[];
}

/**
 * `address`: `8265`, `host:8265`, `http(s)://…`, `ssh://HOST/8265`, `ssh://HOST/node:8265`,
 * `slurm://JOB`,
 * `ssh://HOST/slurm://JOB`.  The rest only if the user gave it, see `Access`.
 */
export interface AddCluster {
  readonly address: string;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>> | null;
  readonly ca_file?: string | null;
}

/** A cluster by its id. */
export interface ClusterRef {
  readonly cluster: string;
}

/**
 * What a cluster asks for before it answers; None leaves it as it is, an empty value takes it
 * back.
 *
 * The editor keeps it (tokens and headers in SecretStorage) and tells it after each start.
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

/**
 * What ssh asks on the way to `host`; "notice" wants no answer and is over by itself (touch the
 * key).
 */
export interface Question {
  readonly id: string;
  readonly host: string;
  readonly prompt: string;
  readonly kind: "text" | "secret" | "confirm" | "notice";
}

/** A question that is over: answered elsewhere, or not to be answered any more. */
export interface QuestionRef {
  readonly id: string;
}

/** What the user typed (for "confirm": yes or no), None if they closed the box.  Kept nowhere. */
export interface Answer {
  readonly id: string;
  readonly text: string | null;
}

/**
 * The route to a cluster that is not reached directly, and its state.
 *
 * `via`: "login", "job 12345 on node-1", "job 12345 on node-1, through login".  `sentence` is the
 * reason of
 * the state, "" when all is well; `message` the last message of ssh or srun.
 */
export interface ClusterRoute {
  readonly kind: "direct" | "ssh" | "srun";
  readonly via: string;
  readonly state: "connecting" | "ready" | "degraded" | "lost" | "reconnecting";
  readonly sentence: string;
  readonly message: string;
}

/** A terminal to open: `argv` runs as it is, without a shell, with `env` added. */
export interface Terminal {
  readonly title: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}
