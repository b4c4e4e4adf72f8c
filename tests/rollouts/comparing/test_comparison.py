"""Whole comparisons of engines whose model is a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.comparing import json_record, texts
from eagleray.rollouts.comparing.comparison import compare
from eagleray.rollouts.comparing.engines.dump import LogprobDump
from eagleray.rollouts.comparing.model import (
    ComparisonKind,
    EngineComparison,
    LogprobSource,
    RolloutPrompt,
    TokenSequence,
)

from tests.rollouts.comparing.scripted_engines import ScriptedEngine

PROMPTS = [RolloutPrompt(at, f"prompt number {at}") for at in range(8)]
Kind = ComparisonKind


async def compared(a: ScriptedEngine, b: ScriptedEngine) -> EngineComparison:
    return await compare(a, b, PROMPTS, 16)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (ScriptedEngine(), ScriptedEngine(), Kind.CONSISTENT),
        (ScriptedEngine(), ScriptedEngine(noise=1e-3), Kind.KERNEL_MISMATCH),
        (ScriptedEngine(), ScriptedEngine(noise=0.3), Kind.OTHER_MODEL),
        (ScriptedEngine(special=(1,)), ScriptedEngine(), Kind.TEMPLATE_MISMATCH),
        (ScriptedEngine(), ScriptedEngine(shift=1), Kind.TOKENIZER_DRIFT),
        (ScriptedEngine(temperature=0.7), ScriptedEngine(), Kind.SAMPLING_MISMATCH),
        (ScriptedEngine(likeliest=9), ScriptedEngine(), Kind.SAMPLING_MISMATCH),
        (
            ScriptedEngine(source=LogprobSource.PROCESSED),
            ScriptedEngine(),
            Kind.SAMPLING_MISMATCH,
        ),
        (
            ScriptedEngine(defaults={"temperature": 0.8, "top_k": 40}),
            ScriptedEngine(defaults={"temperature": 0.2, "top_k": 40}),
            Kind.SAMPLING_MISMATCH,
        ),
    ],
)
async def test_verdict_names_the_difference(
    a: ScriptedEngine, b: ScriptedEngine, expected: ComparisonKind
) -> None:
    assert (await compared(a, b)).verdict.reading.kind is expected


async def test_other_tokenizer_has_no_figures_but_a_template_has() -> None:
    """The same ids are other texts for the first, and the same ones for the second."""
    drifted = json_record.as_json(await compared(ScriptedEngine(), ScriptedEngine(shift=1)))
    assert (drifted["mean_abs_dlogp"], drifted["k3_kl"], drifted["mult_error"]) == (None,) * 3
    assert drifted["sequences"] == []
    templated = json_record.as_json(await compared(ScriptedEngine(special=(1,)), ScriptedEngine()))
    assert templated["mean_abs_dlogp"] == pytest.approx(0, abs=1e-9)
    assert templated["prompts"]["first"] == {
        "index": 0,
        "position": 0,
        "a": (1, *(ord(each) % 40 for each in "prompt ")),
        "b": tuple(ord(each) % 40 for each in "prompt n"),
        "length_a": 16,
        "length_b": 15,
    }


async def test_short_lists_of_logprobs_are_left_out_and_said() -> None:
    found = await compared(ScriptedEngine(short=(0, 3)), ScriptedEngine())
    assert found.left_out == 2
    assert [each.tokens.index for each in found.sequences] == [1, 2, 4, 5, 6, 7]
    assert found.verdict.reading.kind is Kind.CONSISTENT
    assert any("2 sequences are left out" in line for line in texts.lines(found))


async def test_nothing_but_short_lists_is_unknown() -> None:
    found = await compared(ScriptedEngine(short=tuple(range(8))), ScriptedEngine())
    assert (found.left_out, found.metrics) == (8, None)
    assert found.verdict.reading.kind is Kind.UNKNOWN
    assert list(texts.lines(found))


async def test_first_divergence_is_where_the_other_engine_chooses_another_token() -> None:
    a, b = ScriptedEngine(), ScriptedEngine(noise=1.0)
    found = await compared(a, b)
    first = found.greedy.first
    assert first is not None
    tokens = found.sequences[first.sequence].tokens
    ids = await b.generate([tokens.prompt], first.position + 1, lambda done: None)
    assert ids[0].ids[:-1] == tokens.completion[: first.position]
    assert ids[0].ids[-1] == first.b_id != tokens.completion[first.position] == first.a_id


async def test_worst_tokens_are_the_largest_differences_with_their_text() -> None:
    found = await compared(ScriptedEngine(), ScriptedEngine(noise=0.3))
    largest = max(abs(delta) for each in found.sequences for delta in each.deltas)
    assert abs(found.worst[0].delta) == largest
    assert found.worst[0].text == f"<{found.worst[0].id}>"
    assert found.metrics is not None
    assert found.metrics.max_abs_dlogp == largest


async def test_progress_names_each_step() -> None:
    steps: list[tuple[str, int, int]] = []
    await compare(ScriptedEngine(), ScriptedEngine(), PROMPTS, 4, lambda *step: steps.append(step))
    assert list(dict.fromkeys(doing for doing, *_ in steps)) == [
        "Connecting",
        "Comparing prompts",
        "Generating",
        "Computing logprobs",
    ]
    assert steps[-1][1:] == (8, 8)


async def dump_of(engine: ScriptedEngine, completions: list[tuple[int, ...]]) -> LogprobDump:
    sequences = tuple(TokenSequence(at, (1, 2), each) for at, each in enumerate(completions))
    scored = tuple(await engine.score(sequences, lambda done: None))
    return LogprobDump("dump.jsonl", sequences, scored, 0)


async def test_dump_is_compared_with_an_engine_and_with_another_dump() -> None:
    completions = [tuple((7 * at + 3 * step) % 40 for step in range(12)) for at in range(6)]
    dump = await dump_of(ScriptedEngine(), completions)
    stale = await dump_of(ScriptedEngine(noise=0.3), completions[2:])
    assert (await compare(dump, ScriptedEngine())).verdict.reading.kind is Kind.CONSISTENT
    assert (await compare(ScriptedEngine(noise=0.3), dump)).verdict.reading.kind is (Kind.UNKNOWN)
    both = await compare(dump, stale)
    assert (len(both.sequences), both.verdict.reading.kind) == (4, Kind.UNKNOWN)
    # Its tokens were sampled, so that none of them is a divergence.
    assert both.greedy.first is None
    with pytest.raises(EaglerayError) as error:
        await compare(dump, await dump_of(ScriptedEngine(), [(39, 38)]))
    assert error.value.code == "dumps-differ"


def changed(dump: LogprobDump, more: tuple[int, ...] = (), cut: int = 0) -> LogprobDump:
    """The dump with longer prompts, or without the ends of its completions."""
    end = -cut or None
    sequences = tuple(
        evolve(each, prompt=more + each.prompt, completion=each.completion[:end])
        for each in dump.sequences
    )
    scored = tuple(
        evolve(each, ids=each.ids[:end], logprobs=each.logprobs[:end]) for each in dump.scored
    )
    return evolve(dump, sequences=sequences, scored=scored)


async def test_dumps_with_other_prompts_are_compared() -> None:
    """A chat template that is applied twice makes longer prompts."""
    completions = [tuple((7 * at + 3 * step) % 40 for step in range(12)) for at in range(6)]
    dump = await dump_of(ScriptedEngine(), completions)
    for a, b in ((dump, changed(dump, (3, 4))), (changed(dump, (3, 4)), dump)):
        found = await compare(a, b)
        assert found.verdict.reading.kind is Kind.TEMPLATE_MISMATCH
        assert found.verdict.reading.confidence == 0.9
        assert "One side's prompts end with the other's." in found.notes
        assert found.prompts.different == 6
    # A prompt with other tokens may be of another tokenizer.
    short = await dump_of(ScriptedEngine(), [(5, 6)])
    other = tuple(evolve(each, prompt=(8, 9)) for each in dump.sequences)
    found = await compare(dump, evolve(dump, sequences=other))
    assert found.verdict.reading.confidence == 0.6
    with pytest.raises(EaglerayError):
        await compare(short, evolve(short, sequences=(evolve(short.sequences[0], prompt=(8, 9)),)))


async def test_dump_without_end_tokens_is_compared() -> None:
    """minimind#850: the trainer's side lacks the token that ends each completion."""
    completions = [(*((7 * at + 3 * step) % 40 for step in range(12)), 2) for at in range(6)]
    dump = await dump_of(ScriptedEngine(), completions)
    for a, b, side in ((dump, changed(dump, cut=1), "B"), (changed(dump, cut=1), dump, "A")):
        found = await compare(a, b)
        assert found.verdict.reading.kind is Kind.CONSISTENT
        assert found.notes == (f"6 completions of {side} lack their last token (2).",)
        assert found.metrics is not None and found.metrics.tokens == 72


async def test_sequences_of_one_dump_only_are_counted() -> None:
    completions = [tuple((7 * at + 3 * step) % 40 for step in range(12)) for at in range(6)]
    a = await dump_of(ScriptedEngine(), completions[:4])
    b = await dump_of(ScriptedEngine(), completions[3:])
    steps: list[str] = []
    found = await compare(a, b, on_progress=lambda doing, *_: steps.append(doing))
    assert found.notes == ("Only A has 3 of the sequences, only B has 2.",)
    # Files need no connection.
    assert steps == []


async def test_engines_need_prompts() -> None:
    with pytest.raises(EaglerayError) as error:
        await compare(ScriptedEngine(), ScriptedEngine())
    assert error.value.code == "prompts-needed"


async def test_saved_record_has_all_ids_and_logprobs(tmp_path: Path) -> None:
    found = await compared(ScriptedEngine(), ScriptedEngine(noise=0.01))
    file = tmp_path / "out.json"
    json_record.save(found, file)
    assert file.stat().st_mode & 0o777 == 0o600
    saved = json.loads(file.read_text())
    assert saved["verdict"] == found.verdict.reading.kind.value
    for row, sequence in zip(saved["sequences"], found.sequences, strict=True):
        assert tuple(row["completion_ids"]) == sequence.tokens.completion
        deltas = [a - b for a, b in zip(row["a_logprobs"], row["b_logprobs"], strict=True)]
        assert row["deltas"] == pytest.approx(deltas, abs=1e-7)
    with pytest.raises(EaglerayError) as error:
        json_record.save(found, tmp_path / "missing" / "out.json")
    assert error.value.code == "comparison-unsaved"


async def test_text_has_the_sentence_first_then_the_layers() -> None:
    found = await compared(ScriptedEngine(), ScriptedEngine(noise=0.3))
    lines = list(texts.lines(found))
    assert lines[0].startswith("Other model (")
    assert "Prompts: 8 of 8 have the same token ids." in lines
    assert any(line.startswith("Greedy: ") for line in lines)
    assert any("█" in line or "▓" in line for line in lines)
