// Workers and clusters as the sidecar sends them, for tests.
import type {
  Cluster,
  Clusters,
  ClusterProblem,
  ClusterRoute,
  Job,
  JobStatus,
  SlurmJob,
} from "../../../extension/clusters/messages";
import { stopCounts } from "../../../extension/clusters/worker_counts";
import type { LiveWorker, PausedWorker, Snapshot } from "../../../extension/debug/workers/messages";

export const CLUSTER_ID = "http://127.0.0.1:8265";

export function pausedWorker(changes: Partial<PausedWorker> = {}): PausedWorker {
  return {
    cluster: CLUSTER_ID,
    session: "session_1",
    worker_id: "0badcafe",
    name: "policy_0",
    title: "PolicyWorker.train",
    rank: 0,
    node_id: "n1",
    node_ip: "10.0.0.1",
    port: 4000,
    pid: 123,
    kind: "breakpoint",
    state: "paused",
    waiting_s: 12,
    location: null,
    exception: "",
    threads: 1,
    attempt: 0,
    children: [],
    held_on: "",
    is_held: false,
    is_attached: false,
    held_s: 0,
    stop: 0,
    ...changes,
  };
}

export function snapshotOf(
  workers: readonly PausedWorker[],
  title = "PolicyWorker.train",
  post_mortem = false,
): Snapshot {
  return {
    groups:
      workers.length === 0
        ? []
        : [{ cluster: CLUSTER_ID, title, workers, post_mortem, waiting: "", sentence: "" }],
    stops: stopCounts(workers),
  };
}

export function cluster(changes: Partial<Cluster> = {}): Cluster {
  return {
    id: CLUSTER_ID,
    name: "local (8265)",
    origin: "own",
    state: "connected",
    session: "session_1",
    ray_version: "2.60.0",
    sentence: "Connected, Ray 2.60.0, 6 workers, none paused",
    problems: [],
    route: null,
    job: "",
    host: "",
    time_left_s: null,
    time_warning: "",
    run: "",
    stops: { paused: 0, held: 0, debugging: 0 },
    workers: 6,
    is_pending: false,
    ...changes,
  };
}

export function clustersOf(clusters: readonly Cluster[], more: Partial<Clusters> = {}): Clusters {
  return { clusters, hints: [], jobs: [], hosts: [], ...more };
}

export function problem(code: string, message: string, next_step = ""): ClusterProblem {
  return { code, message, next_step, retries: false, output: "" };
}

export function route(changes: Partial<ClusterRoute> = {}): ClusterRoute {
  return {
    kind: "ssh",
    via: "login",
    state: "ready",
    sentence: "",
    message: "",
    ...changes,
  };
}

/** Fields of a job and of the records in it. */
type JobChanges = Partial<Omit<Job, "status"> & Omit<JobStatus, "job"> & SlurmJob>;

export function job(changes: JobChanges = {}): Job {
  const values = {
    id: "12",
    name: "train",
    word: "RUNNING",
    state: "running",
    reason: "",
    partition: "gpu",
    nodelist: "n[1-3]",
    node_count: 3,
    ran_s: 60,
    started: 0,
    exclusive: true,
    checked: false,
    host: "login",
    at: 0,
    ray: "live",
    ray_version: "2.60.0",
    address: "ssh://login/slurm://12",
    sentence: "Ray 2.60.0",
    time_left_s: 4_800,
    starts_s: null,
    ...changes,
  } as const;
  const { host, at, ray, ray_version, address, sentence, time_left_s, starts_s, ...slurm } = values;
  const status = { host, job: { ...slurm, time_left_s }, at, ray, ray_version };
  return { status, address, sentence, time_left_s, starts_s };
}

export function anyWorker(changes: Partial<LiveWorker> = {}): LiveWorker {
  return {
    cluster: CLUSTER_ID,
    worker_id: "0badcafe",
    name: "policy_0",
    kind: "actor",
    class_name: "PolicyWorker",
    rank: 0,
    state: "running",
    running: "train",
    node_id: "n1",
    node_ip: "10.0.0.1",
    pid: 123,
    job_id: "01000000",
    actor_id: "a1",
    ...changes,
  };
}
