"""Summarizes a debug run in sentences: what it does, what is not verified, what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from eagleray.features.presets.analysis import ProgramAnalysis
from eagleray.features.presets.job_submission import returns_at_once
from eagleray.features.presets.model import (
    HANG_DETAILS,
    OPTIONS,
    POST_MORTEM,
    WITHOUT_EFFECT,
    ProposedChange,
)

_OF_RUN = ("unknown version", "no framework")
_SURE, _UNSURE = "will", "should"


def summary(
    name: str,
    analysis: ProgramAnalysis,
    changes: Sequence[ProposedChange],
    answers: Mapping[str, str],
    texts: Mapping[str, str],
) -> str:
    """`name` is the framework and its version; `answers` ask for something, `texts` are their questions."""
    phrases: dict[str, list[str]] = {_SURE: [], _UNSURE: []}
    verbs = {
        name: _verb({change.outcome for change in changes if change.option == name})
        for name in answers
    }
    for option, phrase in _phrases(answers, texts):
        if verb := verbs[option]:
            phrases[verb].append(phrase)
    subject = f"This debug run of {name}" if name else "This debug run"
    parts = [change.why for change in changes if change.outcome in _OF_RUN]
    if sure := phrases[_SURE]:
        parts.append(f"{subject} will {_listed(sure)}.")
    if unsure := phrases[_UNSURE]:
        start = "It should also" if sure else f"{subject} should"
        parts.append(f"{start} {_listed(unsure)}; this is not verified for this version.")
    if failed := {
        change.option: change.request for change in changes if change.outcome == "not changed"
    }:
        listed = _listed([f"“{text.partition(': ')[0]}”" for text in failed.values()])
        parts.append(f"Eagleray couldn't apply {listed}; the reasons are below.")
    if POST_MORTEM.name in answers:
        parts.append("A worker that fails stops at the failing line.")
    parts += _left_behind(analysis, answers["name"] if verbs.get("name") else "")
    if returns_at_once(analysis.launch):
        parts.append(
            "`ray job submit --no-wait` returns before the training starts; the job continues in the cluster."
        )
    return " ".join(parts)


def _verb(outcomes: set[str]) -> str:
    """ "" if one of its settings has no effect, or there is none."""
    if not outcomes or outcomes & WITHOUT_EFFECT:
        return ""
    return _UNSURE if "set, effect not verified" in outcomes else _SURE


def _phrases(answers: Mapping[str, str], texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What each option does, in the order of the form; a framework may name an option differently."""
    for option in (*OPTIONS, HANG_DETAILS):
        if value := answers.get(option.name):
            text = texts.get(option.name, option.text)
            renamed = f"use {text[:1].lower()}{text[1:]} ({{value}})"
            phrase = option.phrase if text == option.text else renamed
            yield option.name, phrase.replace("{value}", value)


def _left_behind(analysis: ProgramAnalysis, name: str) -> Iterable[str]:
    """`name` is the experiment's new name, "" if it has none."""
    recognised, left = analysis.recognised, []
    for what, where in recognised.table.leaves if recognised and recognised.in_range else ():
        is_named = where and (name or "{name}" not in where)
        left.append(f"{what} ({where.replace('{name}', name)})" if is_named else what)
    if left:
        yield f"It leaves behind {_listed(left)}."


def _listed(texts: Sequence[str]) -> str:
    *first, last = texts
    if not first:
        return last
    return f"{', '.join(first)}{',' if len(first) > 1 else ''} and {last}"
