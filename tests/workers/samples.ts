// Workers and clusters as the sidecar sends them, for tests.
import type {
  Cluster,
  Clusters,
  Job,
  ClusterRoute,
} from "../../extension/features/clusters/messages";
import type { LiveWorker, PausedWorker, Snapshot } from "../../extension/features/workers/messages";

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
    ...changes,
  };
}

export function snapshotOf(
  workers: readonly PausedWorker[],
  title = "PolicyWorker.train",
): Snapshot {
  return {
    groups: workers.length === 0 ? [] : [{ cluster: CLUSTER_ID, title, workers }],
    paused: workers.filter((worker) => worker.state === "paused").length,
    held: workers.filter((worker) => worker.state === "held").length,
  };
}

export function cluster(changes: Partial<Cluster> = {}): Cluster {
  return {
    id: CLUSTER_ID,
    name: "127.0.0.1:8265",
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
    ...changes,
  };
}

export function clustersOf(clusters: readonly Cluster[], more: Partial<Clusters> = {}): Clusters {
  return { clusters, hints: [], jobs: [], hosts: [], ...more };
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

export function job(changes: Partial<Job> = {}): Job {
  return {
    address: "ssh://login/slurm://12",
    job: "12",
    host: "login",
    name: "train",
    partition: "gpu",
    state: "running",
    reason: "",
    nodes: 3,
    sentence: "Ray 2.60.0",
    ray: "live",
    time_left_s: 4_800,
    starts_s: null,
    ...changes,
  };
}

export function anyWorker(changes: Partial<LiveWorker> = {}): LiveWorker {
  return {
    cluster: CLUSTER_ID,
    worker_id: "0badcafe",
    name: "policy_0",
    kind: "actor",
    class_name: "PolicyWorker",
    rank: 0,
    state: "ALIVE",
    running: "train",
    node_id: "n1",
    node_ip: "10.0.0.1",
    pid: 123,
    job_id: "01000000",
    actor_id: "a1",
    paused: false,
    ...changes,
  };
}
