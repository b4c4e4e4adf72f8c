// Reports and profiled runs as the sidecar sends them, for tests.
import type { ProfiledRun, ProfiledWorker } from "../../../extension/profile/recordings/messages";
import type { GpuUsage, Report, Table } from "../../../extension/profile/reports/messages";

export function table(changes: Partial<Table> = {}): Table {
  return {
    id: "kernels",
    title: "Kernels",
    columns: [
      { id: "name", title: "Kernel", kind: "text" },
      { id: "count", title: "Calls", kind: "count" },
      { id: "total", title: "Total", kind: "ns" },
      { id: "share", title: "Share", kind: "share" },
    ],
    rows: [
      ["gemm", 12345, 1_500_000, 0.75],
      ["softmax", 2, null, 0.25],
    ],
    total: 2,
    sorted_by: "total",
    descending: true,
    note: "",
    ...changes,
  };
}

export function gpu(changes: Partial<GpuUsage> = {}): GpuUsage {
  return {
    id: 0,
    name: "H200",
    kernels: 12347,
    begin_ns: 0,
    end_ns: 2_000_000_000,
    busy_ns: 1_500_000_000,
    idle_ns: 500_000_000,
    busy_share: 0.75,
    nccl_ns: 300_000_000,
    nccl_alone_ns: 100_000_000,
    curve: [1, 0.5],
    ...changes,
  };
}

export function report(changes: Partial<Report> = {}): Report {
  return {
    path: "/w/policy.node-7.12.nsys-rep",
    name: "policy.node-7.12.nsys-rep",
    database: "/w/policy.node-7.12.sqlite",
    size: 3 * 1024 * 1024,
    worker: "policy-3",
    class_name: "Policy",
    rank: 3,
    host: "node-7",
    started_utc: "2026-11-21T20:15:03.642736Z",
    duration_ns: 2_000_000_000,
    nsys_version: "2025.1.1",
    schema_version: "3.18.1",
    trace: "cuda,nvtx",
    gpus: [gpu()],
    tables: [table()],
    warnings: [],
    ...changes,
  };
}

export function profiledWorker(changes: Partial<ProfiledWorker> = {}): ProfiledWorker {
  return {
    run: "0123456789ab",
    worker_id: "beef",
    name: "policy-0",
    node: "n1",
    rank: 0,
    state: "profiled",
    sentence: "Nsight profiling enabled for worker 'policy-0' (matched pattern '*policy*')",
    reports: [],
    ...changes,
  };
}

export function profiledRun(changes: Partial<ProfiledRun> = {}): ProfiledRun {
  return {
    run: "0123456789ab",
    output: "/w/eagleray-profiles/0123456789ab",
    state: "idle",
    sentence: "",
    expected: 0,
    gathered: 0,
    workers: [profiledWorker()],
    ...changes,
  };
}
