"""Importance ratios: what a trainer makes of logprobs, by position and step."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from eagleray.rollouts.comparing import json_record, texts
from eagleray.rollouts.comparing.comparison import compare
from eagleray.rollouts.comparing.engines.dump import read_dump
from eagleray.rollouts.comparing.model import ComparedSequence, TokenSequence
from eagleray.rollouts.comparing.page_record import MOST_STEPS, shown
from eagleray.rollouts.comparing.ratios import ratios_of, step_ratios
from eagleray.rollouts.comparing.targets import DumpTarget, target_of


def sequence(*ratios: float, step: int | None = None) -> ComparedSequence:
    a = tuple(-5.0 for _ in ratios)
    b = tuple(-5.0 + math.log(each) for each in ratios)
    return ComparedSequence(TokenSequence(0, (1,), tuple(range(len(a))), step), a, b, None)


def test_ratios_of_a_trainer_by_hand() -> None:
    ratios = ratios_of([sequence(1, 1.2, 0.81, 1, 1, 0.7, 1.3, 4.1)])
    assert ratios is not None
    assert ratios.outside == 3 / 8
    assert ratios.largest == pytest.approx(4.1)
    assert ratios.clipped == 1 / 8
    assert ratios.quarters == (0, 0, 0.5, 1)
    # log 4.1 is more than the others together.
    assert ratios.half == 1 / 8
    assert ratios_of([]) is None


def test_steps_are_in_order_and_sequences_without_one_are_left_out() -> None:
    steps = step_ratios([sequence(1, 2.5, step=7), sequence(1, step=3), sequence(9)])
    assert [each.step for each in steps] == [3, 7]
    assert (steps[1].tokens, steps[1].outside) == (2, 0.5)
    assert steps[1].k3_kl == pytest.approx((2.5 - math.log(2.5) - 1) / 2)


def row(step: int | None, ratio: float) -> str:
    logprobs = {"generation_logprobs": [-3.0] * 40, "prev_logprobs": [-3.0 + math.log(ratio)] * 40}
    ids = {"prompt_ids": [step or 0], "completion_ids": list(range(40))}
    return json.dumps({**ids, **logprobs, **({} if step is None else {"step": step})}) + "\n"


async def test_dump_of_several_steps_has_their_trend(tmp_path: Path) -> None:
    file = tmp_path / "logged.jsonl"
    file.write_text("".join(row(step, 1 + step / 10) for step in range(1, 4)))
    result = await compare(
        read_dump(file, ("generation_logprobs",)), read_dump(file, ("prev_logprobs",))
    )
    assert [each["step"] for each in json_record.as_json(result)["steps"]] == [1, 2, 3]
    printed = "\n".join(texts.lines(result))
    assert "Step 1: 0 % outside 0.8 to 1.25; step 3: 100 %." in printed
    assert "step 2: 0 % outside, largest 1.2" in printed
    assert "By quarter of the completion, outside: 33 %, 33 %, 33 %, 33 %." in printed
    page = shown(result, "")
    assert page.ratios == result.ratios and len(page.steps) == 3 <= MOST_STEPS


def test_step_comes_from_the_file_without_one_in_the_row(tmp_path: Path) -> None:
    file = tmp_path / "train_data_step12.jsonl"
    file.write_text(row(None, 1.0) + row(5, 1.0))
    steps = [each.step for each in read_dump(file, ("prev_logprobs",)).sequences]
    assert steps == [12, 5]


async def test_dump_has_the_dtype_and_model_that_its_name_gives(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(row(1, 1.0))
    target = target_of(f"{file}?logprobs=prev_logprobs&dtype=bf16&model=Qwen3-8B")
    assert target == DumpTarget(file, "prev_logprobs", "bfloat16", "Qwen3-8B")
    dump = read_dump(file, (target.field,), dtype=target.dtype, model=target.model)
    result = await compare(dump, dump)
    assert (result.a.dtype, result.a.model) == ("bfloat16", "Qwen3-8B")
