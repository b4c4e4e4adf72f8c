"""A short run of every target: its seeds, what once broke it, and some hundred changed inputs, the same each time."""

from __future__ import annotations

import random

import pytest

from tests.fuzz import hostile_expressions, mutation
from tests.fuzz.engine import PATIENCE_S, corpus, fault_of, fuzz, steps
from tests.fuzz.registry import TARGETS
from tests.fuzz.target import Target, of_json

BY_NAME = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
INPUTS = 150
# Twice the input may take a little more than twice the lines.
MOST_TIMES = 2.6


@BY_NAME
def test_target_takes_anything(target: Target) -> None:
    faults = fuzz(target, seconds=60, seed=1, most=INPUTS).faults
    assert faults == {}, "\n".join(fault.text for fault in faults.values())


@BY_NAME
def test_work_is_in_proportion(target: Target) -> None:
    """Counted in lines of our sources, which are the same on every machine."""
    if target.kind not in ("text", "bytes"):
        return
    for seed in target.seeds[:2]:
        for found in (seed, seed[:20]):
            short, long = (steps(target, found * times) for times in (20, 40))
            assert long <= MOST_TIMES * short + 1000, f"{found!r}: {short} lines, then {long}"


def test_names_are_unique() -> None:
    assert len({target.name for target in TARGETS}) == len(TARGETS)


def test_inputs_are_stored_and_loaded() -> None:
    rand = random.Random(3)
    for target in TARGETS:
        found = target.mutated(rand, target.seeds)
        assert target.stored(target.loaded(target.stored(found))) == target.stored(found)


def test_the_corpus_belongs_to_targets() -> None:
    kept = {path for target in TARGETS for path, _ in corpus(target)}
    folder = next(iter(kept)).parents[1]
    assert {path for path in folder.rglob("*") if path.is_file()} == kept


def test_a_fault_is_found_and_told_from_another() -> None:
    """A parser that cannot take an object where a text belongs."""

    def parser(text: str) -> None:
        import json

        value = json.loads(text)
        if isinstance(value, dict):
            value.get("name", "").strip()

    target = of_json("planted", parser, [{"name": "a"}], (ValueError,))
    faults = fuzz(target, seconds=60, seed=1, most=2000).faults
    assert {where.split(" ")[0] for where in faults} >= {"AttributeError", "RecursionError"}
    fault = next(fault for where, fault in faults.items() if where.startswith("AttributeError"))
    again = fault_of(target, target.loaded(target.stored(fault.found)))
    assert again is not None and again.where == fault.where


def test_the_same_seed_tries_the_same_inputs() -> None:
    tried: list[list[str]] = []
    for _ in range(2):
        tried.append([])
        target = Target("noting", "text", tried[-1].append, ["a text"])
        fuzz(target, seconds=60, seed=5, most=50)
    assert tried[0] == tried[1]


def test_hostile_expressions_have_no_effect() -> None:
    """`npm run fuzz` tries them with tensors and arrays, too."""
    count, faults = hostile_expressions.run(250, 1, 1000, most_cpu_s=PATIENCE_S)
    assert (count, faults) == (1000, [])


def test_inputs_stay_bounded() -> None:
    rand = random.Random(7)
    text = "a text"
    for _ in range(500):
        text = mutation.text(rand, text, [text])
        assert len(text) <= mutation.LONGEST
