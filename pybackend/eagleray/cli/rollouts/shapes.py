"""Dumps, batches, replays and comparisons of rollouts in `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import asdict

from eagleray.cli.json_shapes import (
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER_OR_NULL,
    VERSION,
    VERSIONED,
    Field,
    Json,
    Shape,
    shaped,
)
from eagleray.rollouts.batches.model import BatchSummary
from eagleray.rollouts.trajectories.model import (
    DumpStatistics,
    TrajectoryGroup,
    TrajectoryItem,
    TrajectoryPage,
)

_ROW = (
    "item", "file", "line", "format", "group", "sample", "step", "reward", "tokens",
    "prompt_tokens", "first_version", "last_version", "truncated", "prompt", "completion",
    "problem",
)  # fmt: skip
_TRAJECTORY = ("row", "turns", "columns", "fields", "raw", "cut")
_GROUP = ("name", "prompt", "shared", "equal_rewards", "members")
_STATISTICS = (
    "items", "problems", "formats", "unit", "lengths", "rewards", "reward_bins", "length_bins",
    "without_reward", "truncated", "groups", "singles", "zero_advantage", "duplicates", "findings",
    "by_group",
)  # fmt: skip
TRAJECTORIES: Shape = {
    **VERSIONED,
    "path": Field("the dump"),
    "items": Field("lines that were read, null with --item, --group and --stats", INTEGER_OR_NULL),
    "matches": Field("how many the list would have, null if they weren't counted", INTEGER_OR_NULL),
    "rows": Field(
        f"list of {{{', '.join(_ROW)}}}; prompt and completion are their beginnings", "array", _ROW
    ),
    "unfinished": Field(
        "last lines without an end: list of {file, line, text}", "array", ("file", "line", "text")
    ),
    "notes": Field("what the listed rows don't have, as sentences", "array"),
    "trajectory": Field(
        f"with --item: {{{', '.join(_TRAJECTORY)}}}: turns {{role, text, trained}}, a list for each column of tokens",
        "object or null",
        _TRAJECTORY,
    ),
    "group": Field(
        f"with --group: {{{', '.join(_GROUP)}}}: members {{row, completion, duplicate_of}}",
        "object or null",
        _GROUP,
    ),
    "statistics": Field(
        f"with --stats: {{{', '.join(_STATISTICS)}}}", "object or null", _STATISTICS
    ),
}
_COMPARISON_READING = ("verdict", "confidence", "sentence")
_DIVERGENCE = ("sequence", "position", "a_id", "b_id", "a_margin", "b_margin", "is_near_tie")
_RATIOS = ("outside", "largest", "clipped", "quarters", "half")
_STEP_RATIOS = ("step", "tokens", "k3_kl", "outside", "largest")
_PROMPTS = ("compared", "different", "plain_differ", "first")
_GREEDY = ("sequences", "positions", "agreement", "diverged", "near_ties")
_WORST_TOKEN = ("sequence", "position", "id", "text", "a", "b", "delta")
_COMPARED_SEQUENCE = (
    "index",
    "prompt_tokens",
    "tokens",
    "mean_abs_dlogp",
    "max_abs_dlogp",
    "first_divergence",
    "deltas",
)
_ENGINE = ("name", "kind", "model", "dtype", "logprobs", "defaults", "vocabulary")
COMPARISON: Shape = {
    **VERSIONED,
    "verdict": Field(
        '"consistent", "as-usual", "kernel-mismatch", "precision-mismatch", "stale-weights", "other-model",'
        ' "misaligned", "template-mismatch", "tokenizer-drift", "sampling-mismatch" or "unknown"'
    ),
    "confidence": Field("from 0 to 1", "number"),
    "sentence": Field("the verdict as a sentence, with its figures"),
    "next_step": Field("what you can do"),
    "readings": Field(
        f"what the figures may mean, the best first: list of {{{', '.join(_COMPARISON_READING)}}}",
        "array",
        _COMPARISON_READING,
    ),
    "tokens": Field("number of tokens whose logprobs were compared", INTEGER),
    "mean_abs_dlogp": Field(
        "mean of the differences of logprobs; null without any", NUMBER_OR_NULL
    ),
    "max_abs_dlogp": Field("the largest of them", NUMBER_OR_NULL),
    "mean_abs_dp": Field("mean of the differences of probabilities", NUMBER_OR_NULL),
    "k1_kl": Field("mean of log p(A) - log p(B)", NUMBER_OR_NULL),
    "k3_kl": Field("mean of r - log r - 1 with r = p(B) / p(A)", NUMBER_OR_NULL),
    "mult_error": Field(
        "mean of exp of the absolute differences, as token_mult_prob_error of NeMo RL",
        NUMBER_OR_NULL,
    ),
    "pearson": Field("correlation of the probabilities", NUMBER_OR_NULL),
    "ratios": Field(
        f"{{{', '.join(_RATIOS)}}}: importance ratios p(B) / p(A), as shares outside 0.8 to 1.25 and above 2,"
        " the largest, the shares outside in each quarter of the completions, and the share of tokens that"
        " makes half of the differences; null without any",
        "object or null",
        _RATIOS,
    ),
    "steps": Field(
        f"ratios of each training step of a dump: list of {{{', '.join(_STEP_RATIOS)}}}",
        "array",
        _STEP_RATIOS,
    ),
    "first_divergence": Field(
        f"{{{', '.join(_DIVERGENCE)}}}: the first greedy token that differs, null for none",
        "object or null",
        _DIVERGENCE,
    ),
    "prompts": Field(
        f"{{{', '.join(_PROMPTS)}}}: how many prompts have other token ids", "object", _PROMPTS
    ),
    "greedy": Field(
        f"{{{', '.join(_GREEDY)}}}: how many greedy completions diverge", "object", _GREEDY
    ),
    "worst_tokens": Field(
        f"largest differences: list of {{{', '.join(_WORST_TOKEN)}}}", "array", _WORST_TOKEN
    ),
    "sequences": Field(
        f"list of {{{', '.join(_COMPARED_SEQUENCE)}}}; deltas are log p(A) - log p(B) of each token",
        "array",
        _COMPARED_SEQUENCE,
    ),
    "left_out": Field(
        "number of sequences with fewer logprobs than tokens, or with ids that an engine lacks",
        INTEGER,
    ),
    "notes": Field("list of sentences", "array"),
    "a": Field(f"{{{', '.join(_ENGINE)}}}: the engine of the rollouts", "object", _ENGINE),
    "b": Field(f"{{{', '.join(_ENGINE)}}}: the trainer", "object", _ENGINE),
}
_TENSOR = (
    "name", "shape", "dtype", "bytes", "nan", "infinite", "least", "most", "mean", "std",
    "row_sums",
)  # fmt: skip
_MASKED = ("name", "count", "least", "most", "mean", "std")
BATCH: Shape = {
    **VERSIONED,
    "path": Field("the batch"),
    "torch": Field("version of torch that loaded it"),
    "loaded": Field('"weights_only" (nothing was executed) or "unpickled"'),
    "kind": Field("type of the whole"),
    "names": Field("what the file names besides tensors", "array"),
    "findings": Field("what is wrong, as sentences", "array"),
    "tensors": Field(
        f"list of {{{', '.join(_TENSOR)}}}; row_sums of masks: {{total, least, most, empty}}",
        "array",
        _TENSOR,
    ),
    "masked": Field(
        f"values of trained tokens: list of {{{', '.join(_MASKED)}}}", "array", _MASKED
    ),
    "values": Field("other values: list of {name, type, text}", "array", ("name", "type", "text")),
    "left_out": Field("parts that are not listed", INTEGER),
}
REPLAY: Shape = {
    **VERSIONED,
    "script": Field('the script that was written, "" for none'),
    "argv": Field("the command that trains on the batch", "array"),
}


def trajectories_json(
    path: str,
    page: TrajectoryPage | None = None,
    item: TrajectoryItem | None = None,
    group: TrajectoryGroup | None = None,
    statistics: DumpStatistics | None = None,
) -> Json:
    return {
        "version": VERSION,
        "path": path,
        "items": page and page.items,
        "matches": page and page.matches,
        "rows": [asdict(row) for row in page.rows] if page else [],
        "unfinished": [asdict(line) for line in page.unfinished] if page else [],
        "notes": page.notes if page else [],
        "trajectory": item and asdict(item),
        "group": group and asdict(group),
        "statistics": statistics and asdict(statistics),
    }


def batch_json(path: str, summary: BatchSummary, findings: Sequence[str]) -> Json:
    return shaped(summary, BATCH, path=path, findings=list(findings))


def replay_json(script: str, argv: Sequence[str]) -> Json:
    return {"version": VERSION, "script": script, "argv": list(argv)}
