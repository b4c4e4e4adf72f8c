"""The record of the page: bounded for any number of sequences and tokens, and the largest difference is in it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.comparing import comparison_files
from eagleray.rollouts.comparing.comparison import compare
from eagleray.rollouts.comparing.json_record import as_json
from eagleray.rollouts.comparing.model import (
    ComparedSequence,
    EngineComparison,
    RolloutPrompt,
    TokenSequence,
)
from eagleray.rollouts.comparing.page_record import MOST_CELLS, MOST_SEQUENCES, shown
from eagleray.rollouts.comparing.texts import markdown
from hypothesis import given
from hypothesis import strategies as st

from tests.rollouts.comparing.scripted_engines import ScriptedEngine

LOGPROBS = st.one_of(st.floats(-20, 0), st.just(-math.inf))
SEQUENCES = st.lists(
    st.lists(st.tuples(LOGPROBS, LOGPROBS), max_size=300), min_size=1, max_size=4
).map(
    lambda listed: tuple(
        ComparedSequence(
            TokenSequence(at, (1,), tuple(range(len(pairs)))),
            tuple(a for a, _ in pairs),
            tuple(b for _, b in pairs),
            None,
        )
        for at, pairs in enumerate(listed)
    )
)


async def compared() -> EngineComparison:
    prompts = [RolloutPrompt(at, f"prompt {at}") for at in range(3)]
    return await compare(ScriptedEngine(), ScriptedEngine(noise=0.5), prompts, 8)


@given(SEQUENCES)
async def test_rows_have_the_largest_difference_where_it_is(
    sequences: tuple[ComparedSequence, ...],
) -> None:
    page = shown(evolve(await compared(), sequences=sequences), "")
    assert sorted(row.sequence for row in page.rows) == list(range(1, len(sequences) + 1))
    largest = [row.max_abs_dlogp for row in page.rows]
    assert largest == sorted(largest, reverse=True)
    for row in page.rows:
        assert len(row.cells) == len(row.at) <= MOST_CELLS
        assert all(map(math.isfinite, row.cells))
        assert max(map(abs, row.cells), default=0) == round(row.max_abs_dlogp, 7)
        assert [at // row.cell_tokens for at in row.at] == list(range(len(row.at)))
        source = sequences[row.sequence - 1]
        assert row.tokens == len(source.a)


async def test_stored_comparison_is_what_the_command_prints(own_home: Path, tmp_path: Path) -> None:
    whole = await compared()
    name = comparison_files.store(whole)
    file = tmp_path / "saved.json"
    comparison_files.save(name, file)
    assert json.loads(file.read_text()) == json.loads(json.dumps(as_json(whole)))
    text = comparison_files.stored_markdown(name)
    assert text.startswith("**Other model ") and text.endswith("```\n")
    assert (own_home / "comparisons" / f"{name}.json").stat().st_mode & 0o777 == 0o600
    names = [comparison_files.store(whole) for _ in range(comparison_files.MOST_FILES)]
    with pytest.raises(EaglerayError, match="isn't stored"):
        comparison_files.save(name, file)
    comparison_files.save(names[-1], file)
    with pytest.raises(EaglerayError, match="Can't write"):
        comparison_files.save(names[-1], tmp_path / "none" / "saved.json")


async def test_markdown_has_no_markup_of_names() -> None:
    whole = await compared()
    named = evolve(whole, a=evolve(whole.a, name="`a`\n```\n# b"))
    text = markdown(named)
    assert text.count("`") == 6 and "\n# b" not in text


async def test_thousands_of_sequences_are_the_first_hundreds() -> None:
    whole = await compared()
    many = shown(evolve(whole, sequences=whole.sequences * 1000), "")
    assert (many.sequences, len(many.rows)) == (3000, MOST_SEQUENCES)


async def test_page_has_what_the_terminal_says() -> None:
    page = shown(await compared(), "")
    assert (page.verdict, page.title) == ("other-model", "Other model")
    assert page.readings[0].sentence == page.sentence
    assert page.metrics is not None
    cell = page.rows[0].at.index(page.worst[0].position)
    assert page.rows[0].cells[cell] == round(page.worst[0].delta, 7)
    assert page.worst[0].sequence == page.rows[0].sequence
    assert page.greedy.first is not None
