// A comparison as the sidecar sends it, for tests.
import type { DeltaRow, ShownComparison } from "../../../extension/rollouts/messages";

export function deltaRow(
  sequence: number,
  cells: readonly number[],
  changes: Partial<DeltaRow> = {},
): DeltaRow {
  const sizes = cells.map(Math.abs);
  return {
    sequence,
    tokens: cells.length,
    mean_abs_dlogp: sizes.reduce((sum, size) => sum + size, 0) / sizes.length,
    max_abs_dlogp: Math.max(...sizes),
    cell_tokens: 1,
    cells,
    at: cells.map((_, at) => at),
    divergence: null,
    ...changes,
  };
}

/** Rows of a wave, so that each level is in them. */
function waves(rows: number, tokens: number): DeltaRow[] {
  return Array.from({ length: rows }, (_, row) =>
    deltaRow(
      row + 1,
      Array.from(
        { length: tokens },
        (_, at) => 10 ** (-row / 8) * Math.sin(at * (row + 1)) ** 9 * 1.5,
      ),
      row === 1 ? { divergence: 4 } : {},
    ),
  );
}

export function comparison(changes: Partial<ShownComparison> = {}): ShownComparison {
  const sentence =
    "The precision differs: with float32, mean |Δlogp| is only 1.1e-06. Mean |Δlogp| is 0.015.";
  return {
    verdict: "precision-mismatch",
    title: "Precision mismatch",
    confidence: 0.95,
    sentence,
    next_step: "Run both engines with the same dtype, or raise it.",
    readings: [
      { title: "Precision mismatch", confidence: 0.95, sentence },
      { title: "Other model", confidence: 0.05, sentence: "The models differ." },
    ],
    a: { name: "vllm", kind: "vLLM", model: "Qwen/Qwen3-0.6B", dtype: "float32" },
    b: { name: "torch:policy (bfloat16)", kind: "torch", model: "", dtype: "bfloat16" },
    prompts: 24,
    prompts_different: 1,
    prompt_difference: { prompt: 3, position: 0, a: [1, 300], b: [300, 301] },
    greedy: {
      sequences: 24,
      diverged: 1,
      near_ties: 1,
      agreement: 0.99,
      first: {
        sequence: 2,
        position: 4,
        a_id: 455,
        b_id: 46,
        a_margin: 0.001,
        b_margin: 0.0022,
        is_near_tie: true,
      },
    },
    metrics: {
      tokens: 1435,
      mean_abs_dlogp: 0.0152,
      max_abs_dlogp: 0.0752,
      mean_abs_dp: 0.00073,
      k1_kl: -0.0019,
      k3_kl: 0.000194,
      mult_error: 1.0156,
      pearson: 0.99942,
    },
    ratios: {
      outside: 0.03,
      largest: 4.1,
      clipped: 0.004,
      quarters: [0.01, 0.02, 0.03, 0.06],
      half: 0.1,
    },
    steps: [
      { step: 1, tokens: 700, k3_kl: 1e-4, outside: 0.01, largest: 1.6 },
      { step: 2, tokens: 735, k3_kl: 2e-4, outside: 0.05, largest: 4.1 },
    ],
    sequences: 60,
    rows: waves(60, 64),
    worst: [
      { sequence: 1, position: 2, id: 455, text: "\n  def", a: -1.25, b: -1.5, delta: 0.25 },
      { sequence: 2, position: 4, id: 46, text: "ing", a: -2.5, b: -2.3, delta: -0.2 },
    ],
    notes: ["1 sequence is left out: it has fewer logprobs than tokens."],
    stored: "0123456789abcdef",
    ...changes,
  };
}
