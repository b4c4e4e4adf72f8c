"""Reads token ids and logprobs that a training run has written, a row of JSON for each sequence.

NeMo RL writes `token_ids`, `token_loss_mask`, `generation_logprobs` and `prev_logprobs` (train_data_step*.jsonl), rows of
AReaL's tensors have `input_ids`, `loss_mask` and `logprobs`.  Dumps of AReaL (`dump_to_file`) and verl (`rollout_data_dir`)
have texts only: tokenizing them again gives other ids for most sampled sequences.  Runs of a wave with llama.cpp have no
ids of prompts, which its server still has.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from eagleray.common.l10n import t
from eagleray.remote.injected.outside_files import opened_text
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.engines.wave_prompts import (
    AddressOf,
    Promptless,
    promptless,
    rows_with_prompts,
)
from eagleray.rollouts.comparing.model import Ids, ScoredTokens, TokenSequence
from eagleray.rollouts.trajectories.roles import ROLES, step_of_name

_COMPLETIONS = (*ROLES["completion_ids"], "token_ids")
_STEPS = (*ROLES["step"], "rollout_id")
_LENGTHS = (*ROLES["tokens"], "input_length")
# A model rarely writes one token so often at the end.
_LEAST_PADDING = 4
# The field of our own waves.
OWN_LOGPROBS = "logprobs"
ROLLOUT_LOGPROBS = ROLES["logprobs"]
TRAINER_LOGPROBS = (*ROLES["trainer_logprobs"], OWN_LOGPROBS)


@frozen
class LogprobDump:
    """Sequences with the logprobs that a run has written for them; `promptless` are those that lack the ids of prompts.

    `dtype` and `model` are "" where the user doesn't name them.
    """

    name: str
    sequences: tuple[TokenSequence, ...]
    scored: tuple[ScoredTokens, ...]
    unreadable: int
    promptless: tuple[Promptless, ...] = ()
    dtype: str = ""
    model: str = ""


def read_dump(
    path: Path, fields: Sequence[str], limit: int = 0, *, dtype: str = "", model: str = ""
) -> LogprobDump:
    """Reads the first `limit` rows, or all; logprobs come from the first of `fields` that a row has.

    Raises an error of the catalogue if no row has ids and logprobs.
    """
    sequences: list[TokenSequence] = []
    scored: list[ScoredTokens] = []
    without_prompts: list[Promptless] = []
    rows = unreadable = 0
    unread = ""
    step = step_of_name(path.stem)
    try:
        with opened_text(path, "utf-8-sig") as lines:
            for line in lines:
                if limit and rows == limit:
                    break
                if not line.strip():
                    continue
                read = list(_sequences(line, rows, fields, step))
                run = None if read or OWN_LOGPROBS not in fields else promptless(line, 0.0)
                if run is not None:
                    without_prompts.append(run)
                is_read = bool(read) or run is not None
                rows += is_read
                unreadable += not is_read
                unread = unread or ("" if is_read else line)
                sequences += [tokens for tokens, _ in read]
                scored += [each for _, each in read]
    except OSError as error:
        raise errors.unreadable_dump(path, error.strerror or str(error)) from error
    if not sequences and not without_prompts:
        raise errors.unreadable_dump(path, _missing(unread, fields))
    return LogprobDump(
        path.name,
        tuple(sequences),
        tuple(scored),
        unreadable,
        tuple(without_prompts),
        dtype,
        model,
    )


async def completed(dump: LogprobDump, path: Path, address_of: AddressOf) -> LogprobDump:
    """The dump with the prompts of its `promptless` runs; those that no server has stay in it."""
    sequences, scored = list(dump.sequences), list(dump.scored)
    remaining = []
    for run, row in zip(
        dump.promptless, await rows_with_prompts(dump.promptless, address_of), strict=True
    ):
        if row is None:
            remaining.append(run)
            continue
        prompt = tuple(row["ids"][: -len(run.ids)])
        sequences.append(TokenSequence(len(sequences), prompt, run.ids))
        scored.append(ScoredTokens(run.ids, run.logprobs))
    if not sequences:
        raise errors.wave_without_prompts(path)
    return evolve(
        dump, sequences=tuple(sequences), scored=tuple(scored), promptless=tuple(remaining)
    )


def _missing(line: str, fields: Sequence[str]) -> str:
    """Says which values the row `line` lacks for a comparison."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    present = row if isinstance(row, dict) else {}
    has_logprobs = any(name in present for name in fields)
    if has_logprobs and any(name in present for name in ROLES["completion_ids"]):
        return t("rows lack `prompt_ids`, or have other lengths")
    if has_logprobs and any(name in present for name in ROLES["ids"]):
        return t("rows lack `loss_mask`, or have other lengths")
    if has_logprobs:
        return t("rows have logprobs, but no token ids, such as `response_ids`")
    return t("no row has token ids and logprobs")


def _sequences(
    line: str, index: int, fields: Sequence[str], step: int | None
) -> Iterator[tuple[TokenSequence, ScoredTokens]]:
    """The runs of generated tokens in a row: one for each turn, whose prompt is everything before it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(row, dict):
        return
    for each in _unwrapped(row):
        yield from _sequences_of(each, index, fields, step)


def _unwrapped(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a batch: NeMo RL's values are lists with an element for each of its sequences, one as a rule."""
    names = (*ROLES["ids"], *_COMPLETIONS)
    columns = (value for name in names if isinstance(value := row.get(name), list))
    batch = next((value for value in columns if value and isinstance(value[0], list)), None)
    if batch is None:
        yield row
        return
    for at in range(len(batch)):
        yield {
            name: value[at] if isinstance(value, list) and len(value) == len(batch) else value
            for name, value in row.items()
        }


def _sequences_of(
    row: dict[str, Any], index: int, fields: Sequence[str], step: int | None
) -> Iterator[tuple[TokenSequence, ScoredTokens]]:
    logprobs = _numbers(row, fields)
    split, completion_length = _split(row), len(_ids(row, ROLES["completion_ids"]) or ())
    if split is None or logprobs is None:
        return
    ids, mask = split
    if len(logprobs) == completion_length:
        logprobs = [0.0] * (len(ids) - completion_length) + logprobs
    elif len(logprobs) == sum(mask):
        # Only logprobs of generated tokens.
        remaining = iter(logprobs)
        logprobs = [next(remaining) if generated else 0.0 for generated in mask]
    if len(logprobs) < len(ids):
        return
    step = next((row[name] for name in _STEPS if type(row.get(name)) is int), step)
    if not _has_marks(row):
        mask = _without_padding(ids, mask, logprobs)
    for start, end in _runs(mask):
        completion = ids[start:end]
        yield (
            TokenSequence(index, ids[:start], completion, step),
            ScoredTokens(completion, tuple(logprobs[start:end])),
        )


def _split(row: dict[str, Any]) -> tuple[Ids, list[bool]] | None:
    """All ids of a row, and which of them were generated."""
    prompt, completion = _ids(row, ROLES["prompt_ids"]), _ids(row, _COMPLETIONS)
    if prompt is not None and completion is not None:
        # The tokens of tools and padding are masked.
        marks = _numbers(row, ROLES["mask"]) or []
        own = (
            marks[-len(completion) :] if len(marks) >= len(completion) else [1.0] * len(completion)
        )
        return prompt + completion, [False] * len(prompt) + [bool(each) for each in own]
    whole, mask = _ids(row, ROLES["ids"]), _numbers(row, ROLES["mask"])
    if whole is None or mask is None:
        return None
    length = next((row[name] for name in _LENGTHS if isinstance(row.get(name), int)), len(whole))
    ids = whole[:length]
    generated = [bool(each) for each in mask[: len(ids)]]
    return ids, generated + [False] * (len(ids) - len(generated))


def _has_marks(row: dict[str, Any]) -> bool:
    return bool(_numbers(row, ROLES["mask"]))


def _without_padding(ids: Ids, mask: Sequence[bool], logprobs: Sequence[float]) -> list[bool]:
    """The mask without the padding at the end: one id again and again, or with logprobs of exactly 0.

    The first of the ids may be the end of the text, which has a logprob.
    """
    start = len(ids)
    while start > 1 and ids[start - 1] == ids[-1] and mask[start - 1]:
        start -= 1
    zeros = all(logprob == 0.0 for logprob in logprobs[start + 1 : len(ids)])
    length = len(ids) - start
    if length < 2 or not (zeros or length >= _LEAST_PADDING):
        return list(mask)
    first = start + (logprobs[start] != 0.0)
    return [*mask[:first], *[False] * (len(mask) - first)]


def _runs(mask: Sequence[bool]) -> Iterator[tuple[int, int]]:
    start = None
    for at, generated in enumerate([*mask, False]):
        if generated and start is None:
            start = at
        elif not generated and start is not None:
            yield start, at
            start = None


def _ids(row: dict[str, Any], names: Sequence[str]) -> Ids | None:
    for name in names:
        listed = row.get(name)
        if isinstance(listed, list) and all(type(each) is int for each in listed):
            return tuple(listed)
    return None


def _numbers(row: dict[str, Any], names: Sequence[str]) -> list[float] | None:
    for name in names:
        listed = row.get(name)
        if isinstance(listed, list) and all(isinstance(each, int | float) for each in listed):
            # An integer of hundreds of digits doesn't fit into a float.
            with contextlib.suppress(OverflowError):
                return [float(each) for each in listed]
    return None
