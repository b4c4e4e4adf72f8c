"""A batch of a wave against llama.cpp, whose agent asks for logprobs: saved, loaded and trained on (torch_ranks)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from eagleray.rollouts.trajectories.formats import read_line

from tests.asked import eagleray
from tests.engine.fixtures import Engine
from tests.observe.hangs.ranks import TORCH_PYTHON
from tests.rollouts.batches import stub_areal
from tests.rollouts.observed import observe
from tests.rollouts.test_model_waves import plan_for

pytestmark = pytest.mark.torch_ranks
PYTHON = ("--python", str(TORCH_PYTHON))
LOAD = """\
import json, sys, torch
batch = torch.load(sys.argv[1], weights_only=True)
print(json.dumps({name: tensor.tolist() for name, tensor in batch.items()}))
"""


async def wave(engine: Engine, target: str, folder: Path) -> Path:
    trace = folder / "wave.jsonl"
    observed = await observe(plan_for(engine, target, groups=2, group_size=2), trace=trace)
    assert [run.outcome for run in observed.runs] == ["done"] * 4
    return trace


def loaded(batch: Path) -> dict[str, Any]:
    done = subprocess.run(
        [str(TORCH_PYTHON), "-c", LOAD, str(batch)], capture_output=True, text=True, check=True
    )
    value: dict[str, Any] = json.loads(done.stdout)
    return value


async def test_tokens_of_a_wave_are_a_batch_that_trains(
    own_home: Path, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_ENGINE", engine.key)
    await eagleray("serve", "add", engine.url, "--name", "mine", "--key-env", "KEY_OF_ENGINE")
    trace = await wave(engine, "AsksLogprobs", tmp_path)
    batch, script = tmp_path / "batch.pt", tmp_path / "replay.py"
    saved = await eagleray("rollouts", "batch", str(trace), "--save", str(batch), *PYTHON, "--json")
    assert saved.err.splitlines() == ["Saved 4 trajectories."]

    values = loaded(batch)
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    # Rows of a group are neighbours, in the order of their ends.
    groups = list(dict.fromkeys(record["group"] for record in records))
    records.sort(key=lambda record: groups.index(record["group"]))
    for record, ids, mask, logprobs, attention in zip(
        *(records, values["input_ids"], values["loss_mask"]),
        *(values["logprobs"], values["attention_mask"]),
        strict=True,
    ):
        usage = record["requests"][-1]["response"]["usage"]
        prompt, count = usage["prompt_tokens"], usage["completion_tokens"]
        assert sum(attention) == prompt + count
        assert mask[: prompt + count] == [0] * prompt + [1] * count
        assert ids[prompt : prompt + count] == record["completion_ids"]
        assert logprobs[prompt : prompt + count] == pytest.approx(record["logprobs"], abs=1e-5)
    assert values["rewards"] == [record["reward"] for record in records]

    generated = await eagleray(
        "rollouts", "replay", str(batch), "--script", str(script), "--config", "c.yaml", "--json"
    )
    stub = stub_areal.write(tmp_path / "stub")
    trained = subprocess.run(
        [str(TORCH_PYTHON), *generated.json["argv"][2:]],
        env={**os.environ, "PYTHONPATH": str(stub)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "actor stepped" in trained.stdout.splitlines(), trained.stderr


async def test_server_that_is_not_listed_is_named(
    own_home: Path, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its address is in the trace, which may be anybody's: without the user's word it gets no request."""
    monkeypatch.setenv("OPENAI_API_KEY", engine.key)
    trace = await wave(engine, "AsksLogprobs", tmp_path)
    batch = tmp_path / "batch.pt"
    save = ("rollouts", "batch", str(trace), "--save", str(batch), *PYTHON)
    refused = await eagleray(*save)
    assert refused.code == 1
    assert refused.err.splitlines() == [
        f"eagleray: The runs of {trace} lack the token ids of their prompts.",
        "Name the server of the wave, which has them: `--server NAME`.",
    ]
    saved = await eagleray(*save, "--server", engine.url)
    assert saved.err.splitlines() == ["Saved 4 trajectories."]


async def test_wave_without_logprobs_says_what_to_request(
    own_home: Path, engine: Engine, tmp_path: Path
) -> None:
    trace = await wave(engine, "Shared", tmp_path)
    refused = await eagleray(
        "rollouts", "batch", str(trace), "--save", str(tmp_path / "batch.pt"), *PYTHON
    )
    assert refused.err.splitlines() == [
        f"eagleray: No run of {trace} has a reward, token ids and logprobs.",
        'Let the agent request logprobs=True. In extra_body, vLLM needs {"return_token_ids": True}, '
        'and SGLang {"return_prompt_token_ids": True, "return_meta_info": True}.',
    ]


async def test_tokens_of_a_wave_have_colours(
    own_home: Path, engine: Engine, tmp_path: Path
) -> None:
    trace = await wave(engine, "AsksLogprobs", tmp_path)
    for line in trace.read_bytes().splitlines():
        columns = read_line(line).columns
        completion = json.loads(line)["messages"][-1]["content"]
        assert "".join(columns.texts) == completion
        assert len(columns.logprobs) == len(columns.texts) == len(columns.mask) > 0
        assert all(value is not None and value < 0 for value in columns.logprobs)
