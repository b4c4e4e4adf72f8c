"""A comparison as JSON: what `--json` prints, and the full record of `--out`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import asdict

from eagleray.common.atomic_file import replace_text
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.model import (
    ComparedSequence,
    ComparisonReading,
    EngineComparison,
    EngineFacts,
    GreedyDivergence,
    TokenDelta,
)

FORMAT = 1
# Digits of a difference in the heat map.
_DIGITS = 7
Json = dict[str, Any]


def as_json(comparison: EngineComparison, *, is_full: bool = False) -> Json:
    """`is_full` adds ids and both logprobs of each token."""
    reading = comparison.verdict.reading
    metrics = comparison.metrics
    return {
        "version": FORMAT,
        "verdict": reading.kind.value,
        "confidence": reading.confidence,
        "sentence": reading.sentence,
        "next_step": reading.next_step,
        "readings": [_reading(each) for each in comparison.verdict.readings],
        "tokens": metrics.tokens if metrics else 0,
        "mean_abs_dlogp": metrics and metrics.mean_abs_dlogp,
        "max_abs_dlogp": metrics and metrics.max_abs_dlogp,
        "mean_abs_dp": metrics and metrics.mean_abs_dp,
        "k1_kl": metrics and metrics.k1_kl,
        "k3_kl": metrics and metrics.k3_kl,
        "mult_error": metrics and metrics.mult_error,
        "pearson": metrics and metrics.pearson,
        "ratios": comparison.ratios and asdict(comparison.ratios),
        "steps": [asdict(each) for each in comparison.steps],
        "first_divergence": _divergence(comparison.greedy.first),
        "prompts": asdict(comparison.prompts),
        "greedy": {
            "sequences": comparison.greedy.sequences,
            "positions": comparison.greedy.positions,
            "agreement": comparison.greedy.agreement,
            "diverged": len(comparison.greedy.divergences),
            "near_ties": comparison.greedy.near_ties,
        },
        "worst_tokens": [_token(each) for each in comparison.worst],
        "sequences": [_sequence(each, is_full) for each in comparison.sequences],
        "left_out": comparison.left_out,
        "notes": list(comparison.notes),
        "a": _facts(comparison.a),
        "b": _facts(comparison.b),
    }


def save(comparison: EngineComparison, file: Path) -> None:
    """Writes the full record, readable by this user only."""
    text = json.dumps(as_json(comparison, is_full=True)) + "\n"
    try:
        replace_text(file, text)
    except OSError as error:
        raise errors.comparison_unsaved(file, error.strerror or str(error)) from error


def _reading(reading: ComparisonReading) -> Json:
    return {
        "verdict": reading.kind.value,
        "confidence": reading.confidence,
        "sentence": reading.sentence,
    }


def _divergence(first: GreedyDivergence | None) -> Json | None:
    return None if first is None else asdict(first)


def _token(token: TokenDelta) -> Json:
    return {**asdict(token), "delta": token.delta}


def _sequence(sequence: ComparedSequence, is_full: bool) -> Json:
    deltas = sequence.deltas
    shown: Json = {
        "index": sequence.tokens.index,
        "prompt_tokens": len(sequence.tokens.prompt),
        "tokens": len(deltas),
        "mean_abs_dlogp": sum(map(abs, deltas)) / len(deltas) if deltas else 0.0,
        "max_abs_dlogp": max(map(abs, deltas), default=0.0),
        "first_divergence": _divergence(sequence.divergence),
        "deltas": [round(delta, _DIGITS) for delta in deltas],
    }
    if is_full:
        shown |= {
            "prompt_ids": sequence.tokens.prompt,
            "completion_ids": sequence.tokens.completion,
            "a_logprobs": sequence.a,
            "b_logprobs": sequence.b,
        }
    return shown


def _facts(facts: EngineFacts) -> Json:
    return {**asdict(facts), "logprobs": facts.logprobs.value, "defaults": dict(facts.defaults)}
