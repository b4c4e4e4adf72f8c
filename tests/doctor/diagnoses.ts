// Diagnoses as the sidecar answers them.
import type { Cause, Diagnosis, LogEvidence } from "../../extension/doctor/messages";

export function evidence(more: Partial<LogEvidence> = {}): LogEvidence {
  return {
    path: "/logs/worker-3a.err",
    line: 812,
    text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    time: 1_795_224_007,
    node: "10.0.0.4",
    worker: "WorkerDict pid=29197",
    repeats: 1,
    rank: 3,
    ...more,
  };
}

export function cause(more: Partial<Cause> = {}): Cause {
  return {
    id: "cuda-oom",
    sentence: "A GPU ran out of memory: 2.00 GiB needed.",
    fix: "Use a smaller micro batch.",
    evidence: [evidence()],
    secondary: false,
    severity: "error",
    count: 1,
    files: 1,
    source: "AReaL handling_oom.md",
    settings: { verl: "actor_rollout_ref.rollout.gpu_memory_utilization=0.4" },
    why: "A rank that ran out of memory closes its connections: the others' collectives time out.",
    changes: [
      {
        where: "override",
        name: "actor_rollout_ref.rollout.gpu_memory_utilization",
        value: "0.4",
        framework: "verl",
      },
    ],
    command: "",
    ...more,
  };
}

export function consequence(): Cause {
  const text = "Timed out waiting 1800000ms for recv operation to complete";
  return cause({
    id: "gloo-timeout",
    sentence: "A gloo recv waited 1800000 ms for a peer.",
    fix: "Fix the first error.",
    evidence: [
      evidence({ path: "/logs/worker-7b.err", line: 90, text, time: null, worker: "", rank: null }),
    ],
    secondary: true,
    count: 37,
    files: 37,
    settings: {},
    why: "gloo waits for its peer: one that has ended or hangs never answers.",
    changes: [],
  });
}

export function diagnosis(more: Partial<Diagnosis> = {}): Diagnosis {
  return {
    sentence: "A GPU ran out of memory: 2.00 GiB needed.",
    causes: [cause(), consequence()],
    unknown: [evidence({ path: "/logs/driver.log", line: 3, text: "ValueError: no such layer" })],
    raised: "",
    checked: {
      files: 38,
      bytes: 3_400_000,
      rules: 76,
      unchecked: [{ path: "/logs/old.log.gz", reason: "compressed" }],
    },
    ...more,
  };
}
