"""An object that the framework would reject is named before, with the framework's own message."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.rollouts.agents.model import Mode

from tests.rollouts.observed import KEY, broken, observe, plan_of

INVALID = "Return a float, or a float by completion ID. ValueError: Invalid reward type: <class '"


@pytest.mark.parametrize(
    ("value", "type_name"), [(1, "int"), (True, "bool"), (None, "NoneType"), ("1.0", "str")]
)
async def test_result_of_another_type_is_rejected(
    own_home: Path, value: object, type_name: str
) -> None:
    observed = await observe(plan_of("Returns", arguments={"value": value}))
    [run] = observed.runs
    assert (run.outcome, run.result, run.reward) == ("rejected", value, None)
    assert broken(observed) == {"result": f"`run` returned {type_name}. {INVALID}{type_name}'>"}


async def test_float_holds_the_contract(own_home: Path) -> None:
    observed = await observe(plan_of("Good"))
    assert [rule.rule for rule in observed.contract] == [
        "run",
        "async",
        "arguments",
        "result",
        "finite",
    ]
    assert broken(observed) == {}
    assert observed.runs[0].reward == 1.0


async def test_reward_that_is_not_a_number_is_named(own_home: Path) -> None:
    observed = await observe(plan_of("ReturnsNan"))
    assert broken(observed) == {"finite": "A reward is nan, which ruins the next update."}


async def test_dictionary_with_other_values_is_rejected(own_home: Path) -> None:
    observed = await observe(plan_of("Returns", arguments={"value": {"id": "high"}}))
    assert "a value of type str" in broken(observed)["result"]


@pytest.mark.parametrize(
    ("target", "mode", "rule", "text"),
    [
        ("NotAsync", "inline", "async", "Got NotAsync.run which is not a coroutine function."),
        ("WithoutRun", "inline", "run", "TypeError: Agent must have a callable 'run' method."),
        ("WithoutKeywords", "inline", "arguments", "Add `**extra_kwargs`. TypeError: got an"),
        ("Unpicklable", "subproc", "pickle", "cannot pickle '_thread.lock' object"),
        ("NoSuchClass", "inline", "loads", "The module has no such class."),
        ("no_such_module:Agent", "inline", "loads", "No module named 'no_such_module'"),
        ("no_such_file.py:Agent", "inline", "loads", "No such file: 'no_such_file.py'"),
    ],
)
async def test_agent_that_the_framework_refuses_is_not_run(
    own_home: Path, target: str, mode: Mode, rule: str, text: str
) -> None:
    observed = await observe(plan_of(target, mode=mode))
    assert observed.runs == () and observed.ending == ""
    assert list(broken(observed)) == [rule]
    assert text in broken(observed)[rule]


async def test_error_of_a_constructor_has_its_line(own_home: Path) -> None:
    observed = await observe(plan_of("Returns", arguments={"no_such": 1}))
    assert "unexpected keyword argument" in broken(observed)["loads"]
    assert observed.load_error is not None and "TypeError" in observed.load_error.traceback


async def test_agent_in_a_file_is_run(own_home: Path) -> None:
    observed = await observe(plan_of("plain_agents.py:Good"))
    assert observed.runs[0].outcome == "done"


async def test_processes_get_the_server_from_their_environment(own_home: Path) -> None:
    plan = plan_of("Environment", mode="subproc")
    [run] = (await observe(plan)).runs
    assert run.result == {
        "OPENAI_BASE_URL": plan.base_url,
        "ANTHROPIC_BASE_URL": plan.base_url.removesuffix("/v1"),
        # The key itself is left out of everything that is shown.
        "OPENAI_API_KEY": "…",
        "ANTHROPIC_API_KEY": "…",
    }
    assert KEY not in repr(plan)
