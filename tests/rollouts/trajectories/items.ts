// Trajectories as the sidecar sends them, for tests.
import type {
  DumpStatistics,
  TokenColumns,
  TrajectoryGroup,
  TrajectoryItem,
  TrajectoryPage,
  TrajectoryRow,
} from "../../../extension/rollouts/messages";

const QUESTION = "What is 2+2? Explain each step, then give the result in a box.";

export function row(item: number, changes: Partial<TrajectoryRow> = {}): TrajectoryRow {
  return {
    item,
    file: "12.jsonl",
    line: item,
    format: "AReaL",
    group: "3",
    sample: item - 1,
    step: null,
    reward: item % 2,
    tokens: 20,
    prompt_tokens: 12,
    first_version: 3,
    last_version: 4,
    truncated: false,
    prompt: QUESTION,
    completion: `It is ${item}.`,
    problem: "",
    ...changes,
  };
}

export function page(changes: Partial<TrajectoryPage> = {}): TrajectoryPage {
  return {
    rows: [
      row(1),
      row(2, { truncated: true }),
      row(3, { problem: "The reward is not a finite number.", reward: null }),
    ],
    next: 3,
    matches: null,
    items: 340,
    complete: false,
    scanned: 4e6,
    size: 1e9,
    files: 2,
    unfinished: [],
    notes: [],
    ...changes,
  };
}

export function columns(changes: Partial<TokenColumns> = {}): TokenColumns {
  return {
    ids: [5, 6, 7, 8, 9],
    texts: ["What", "?\n", "It", " is", " 4"],
    mask: [0, 0, 1, 1, 1],
    logprobs: [0, 0, -0.01, -0.9, -6],
    trainer_logprobs: [0, 0, -0.011, -0.8, -4],
    versions: [-1, -1, 7, 7, 8],
    advantages: [0, 0, 0.5, 0, -0.5],
    ...changes,
  };
}

export function item(changes: Partial<TrajectoryItem> = {}): TrajectoryItem {
  return {
    row: row(2, { truncated: true }),
    turns: [
      { role: "system", text: "Be brief.", trained: false },
      { role: "user", text: `${QUESTION}\n`, trained: false },
      { role: "assistant", text: "<think>\n2+2 is 4.\n</think>\nIt is 4.", trained: true },
    ],
    columns: columns(),
    fields: [{ name: "gts", text: "4" }],
    raw: "",
    cut: false,
    ...changes,
  };
}

export function group(): TrajectoryGroup {
  return {
    name: "3",
    prompt: QUESTION,
    shared: 6,
    equal_rewards: true,
    members: [
      { row: row(1), completion: "It is 4, because 2+2 is 4.", duplicate_of: null },
      { row: row(2, { truncated: true }), completion: "It is not", duplicate_of: null },
      { row: row(3), completion: "It is 4, because 2+2 is 4.", duplicate_of: 1 },
    ],
  };
}

export function statistics(): DumpStatistics {
  const spread = { count: 340, least: 0, mean: 0.4123456789, median: 0, p90: 1, most: 1 };
  return {
    items: 340,
    problems: 1,
    formats: ["AReaL"],
    unit: "tokens",
    lengths: { ...spread, mean: 12, most: 20 },
    rewards: spread,
    reward_bins: [
      { low: 0, high: 0, count: 200 },
      { low: 1, high: 1, count: 139 },
    ],
    length_bins: [1, 2, 3, 4].map((at) => ({ low: at, high: at + 1, count: at * 20 })),
    without_reward: 1,
    truncated: 12,
    groups: 42,
    singles: 3,
    zero_advantage: 9,
    duplicates: 4,
    findings: [
      { sentence: "9 of 42 groups have equal rewards: no advantage.", filter: "zero-advantage" },
      { sentence: "Line 341 of 12.jsonl isn't complete.", filter: "" },
    ],
    by_group: [],
  };
}
