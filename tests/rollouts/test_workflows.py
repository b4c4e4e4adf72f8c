"""`arun_episode` of AReaL's workflows against a real engine, with a fake of AReaL's classes."""

from __future__ import annotations

import json
import math
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected.agents.token_requests import ENGINES
from eagleray.rollouts.agents.model import AgentPlan, DataItem

from tests.engine.fixtures import ENGINE_PYTHON, Engine
from tests.rollouts.observed import broken, observe, plan_of

FAKE = Path(__file__).with_name("fake_areal")
GREEDY = {"greedy": True, "max_new_tokens": 6}
SETTINGS = {
    "model": "m",
    "max_new_tokens": 4,
    "temperature": 0.5,
    "top_p": 1.0,
    "top_k": 100_000_000,
    "stop_token_ids": [2],
    "ignore_eos": False,
    "skip_special_tokens": True,
    "stop": None,
    "frequency_penalty": 0.0,
}


@pytest.fixture
def areal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FAKE))


def plan_for(engine: Engine, target: str, data: Any = None, **values: Any) -> AgentPlan:
    groups = values.get("groups", 1)
    items = tuple(DataItem(n, data or {}) for n in range(1, groups + 1))
    defaults = {"python": ENGINE_PYTHON, "base_url": engine.url, "api_key": engine.key}
    return plan_of(f"workflows:{target}", items=items, **{**defaults, **values})


def tokens_of(engine: Engine, text: str) -> list[int]:
    request = urllib.request.Request(
        f"{engine.address}/tokenize",
        json.dumps({"content": text}).encode(),
        {"Authorization": f"Bearer {engine.key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as opened:
        ids: list[int] = json.load(opened)["tokens"]
        return ids


async def test_episode_generates_by_the_server(
    own_home: Path, engine: Engine, areal: None, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.jsonl"
    ids = tokens_of(engine, "def main():")
    plan = plan_for(engine, "OneTurn", {"ids": ids}, arguments={"gconfig": GREEDY})
    observed = await observe(plan, trace=trace)
    [run] = observed.runs
    assert broken(observed) == {}, run.error
    assert [rule.rule for rule in observed.contract] == [
        *("areal", "workflow", "episode", "mode", "trajectory", "finite"),
    ]
    assert (run.outcome, run.reward) == ("done", run.result["rewards"])
    size = len(ids) + int(run.result["rewards"])
    assert run.result["input_ids"] == f"int32 [1, {size}]"
    assert run.result["logprobs"] == f"float32 [1, {size}]"
    sent = json.loads(trace.read_text())["requests"][-1]["request"]
    assert (sent["prompt"], sent["temperature"], sent["n_predict"]) == (ids, 0.0, 6)
    assert engine.key not in trace.read_text()


async def test_wave_of_episodes_shares_one_engine(
    own_home: Path, engine: Engine, areal: None
) -> None:
    ids = tokens_of(engine, "import")
    data, values = {"ids": ids}, {"groups": 4, "group_size": 2}
    plan = plan_for(engine, "OneTurn", data, arguments={"gconfig": GREEDY}, **values)
    observed = await observe(plan)
    assert [run.outcome for run in observed.runs] == ["done"] * 8
    paths = [request.path for run in observed.runs for request in run.requests]
    assert (paths.count("/v1/models"), paths.count("/completion")) == (1, 8)


@pytest.mark.parametrize(
    ("target", "rule", "text"),
    [
        ("Rejecting", "trajectory", "`arun_episode` returned None: AReaL drops the trajectory."),
        ("WithoutMask", "trajectory", "ValueError: Missing required keys in tensor data"),
        ("NotDerived", "workflow", "The class isn't derived from AReaL's `RolloutWorkflow`."),
    ],
)
async def test_what_areal_would_drop_is_named(
    own_home: Path, engine: Engine, areal: None, target: str, rule: str, text: str
) -> None:
    found = broken(await observe(plan_for(engine, target)))
    assert list(found) == [rule]
    assert text in found[rule]


async def test_other_methods_of_the_engine_are_not_there(
    own_home: Path, engine: Engine, areal: None
) -> None:
    [run] = (await observe(plan_for(engine, "AsksTheEngine"))).runs
    assert run.error is not None
    assert (run.outcome, run.error.type) == ("failed", "NotImplementedError")


async def test_several_samples_are_refused_as_by_areal(
    own_home: Path, engine: Engine, areal: None
) -> None:
    data = {"ids": [5], "samples": 2}
    plan = plan_for(engine, "OneTurn", data, arguments={"gconfig": GREEDY})
    [run] = (await observe(plan)).runs
    assert run.error is not None
    assert (run.error.type, "n_samples is 2" in run.error.message) == ("ValueError", True)


async def test_workflow_runs_inline_only(own_home: Path, engine: Engine, areal: None) -> None:
    plan = plan_for(engine, "Rejecting", mode="subproc")
    assert broken(await observe(plan)) == {"mode": "AReaL runs a workflow inline only."}


async def test_python_without_areal_says_so(own_home: Path) -> None:
    found = broken(await observe(plan_of("Workflow")))
    assert found == {
        "areal": "`arun_episode` needs AReaL, which this Python can't import. "
        "ModuleNotFoundError: No module named 'areal'"
    }


def test_vllm_and_sglang_get_what_areal_sends() -> None:
    """Recorded answers: no such engine runs without a GPU in the tests."""
    path, request, read = ENGINES["vllm"]
    sent = request([1, 2], SETTINGS)
    assert (path, sent["prompt"], sent["max_tokens"]) == ("/v1/completions", [1, 2], 4)
    logprobs = {"tokens": ["token_id:7", "token_id:2"], "token_logprobs": [-0.5, -0.25]}
    got = read({"choices": [{"finish_reason": "stop", "logprobs": logprobs}]})
    assert (got.ids, got.logprobs, got.stop_reason) == ([7, 2], [-0.5, -0.25], "stop")
    path, request, read = ENGINES["sglang"]
    sent = request([1, 2], SETTINGS)
    assert (path, sent["input_ids"], sent["sampling_params"]["max_new_tokens"]) == (
        "/generate",
        [1, 2],
        4,
    )
    meta = {"finish_reason": {"type": "length"}, "output_token_logprobs": [[-0.5, 7, None]]}
    got = read({"meta_info": meta})
    assert (got.ids, got.logprobs, got.stop_reason) == ([7], [-0.5], "length")


def test_part_of_a_character_has_no_logprob() -> None:
    entries = [{"id": 7, "logprob": -0.5}, {"id": 9, "logprob": -0.25}]
    got = ENGINES["llama.cpp"][2](
        {"tokens": [7, 8, 9], "completion_probabilities": entries, "stop_type": "limit"}
    )
    assert (got.ids, got.stop_reason) == ([7, 8, 9], "length")
    assert [math.isnan(each) for each in got.logprobs] == [False, True, False]
