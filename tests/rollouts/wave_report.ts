// The report of a wave as the sidecar sends it, for tests.
import type { WaveReport } from "../../extension/rollouts/messages";

export function waveReport(changes: Partial<WaveReport> = {}): WaveReport {
  const run = { index: 8, group: 1, member: 0, seconds: 0.31, trace: 5, path: "", line: 0 };
  const totals = {
    ...{ seconds: 2.5, in_flight: 12, max_in_flight: 512, ended: 500 },
    ...{ requests: 512, requests_in_flight: 12, max_requests_in_flight: 480, tokens: 8000 },
    ...{
      lag_p50_ms: 4.2,
      lag_max_ms: 1310,
      lines: [],
      blocking: [],
      unobserved: 0,
      unattributed: 0,
      contention: null,
    },
  };
  return {
    progress: {
      ...{ runs: 512, done: 499, failed: 1, totals },
      latency_ms: { p50: 310, p99: 1240, max: 1300 },
      rewards: [
        { low: 0, high: 0, count: 200 },
        { low: 1, high: 1, count: 299 },
      ],
    },
    verdicts: [
      {
        kind: "blocking-call",
        sentence: "`time.sleep(0.05)` blocked the event loop for 2.1 s.",
        file: "/w/project/agent.py",
        line: 24,
      },
    ],
    contract: [
      { rule: "run", ok: true, text: "The agent has a method `run`." },
      { rule: "ids", ok: false, text: "The dictionary names an unknown completion." },
    ],
    runs: [
      {
        ...run,
        ...{ item: 2, outcome: "failed", reward: null, problem: "ValueError: two" },
        ...{ path: "/w/project/agent.py", line: 17 },
      },
      { ...run, item: 3, outcome: "done", reward: 1, problem: "" },
    ],
    ending: "",
    problem: "",
    is_cancelled: false,
    trace: "/h/waves/aa.jsonl",
    ...changes,
  };
}
