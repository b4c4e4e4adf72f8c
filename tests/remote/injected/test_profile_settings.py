"""The settings of a profile, and the requests that created actors and tasks get."""

from __future__ import annotations

import json
from typing import Any

import pytest
from eagleray.remote.injected.nsys.profile_requests import (
    NSIGHT,
    VARIABLE,
    ProfileRequests,
    profile_request,
    read_profile_request,
    with_profile_request,
)
from eagleray.remote.injected.profile_settings import ProfileSettings
from eagleray.remote.injected.settings import RunSettings
from eagleray.remote.injected.worker_patterns import matchable_names

NAMES = matchable_names("nemo_rl.models", "DTensorPolicyWorker", "policy-3")


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], ""),
        (["", " , "], ""),
        (["*policy*"], "*policy*"),
        ([" vllm* , *Policy*"], "*Policy*"),
        (["nemo_rl.models.*"], "nemo_rl.models.*"),
        (["policy-[0-3]"], "policy-[0-3]"),
        (["policy-[!0-3]", "policy-?"], "policy-?"),
        (["POLICY*"], ""),
        (["vllm_generation_worker,dtensor_policy_worker"], "dtensor_policy_worker"),
        (["vllm_generation_worker"], ""),
    ],
)
def test_pattern_selects_workers(patterns: list[str], expected: str) -> None:
    assert ProfileSettings({"workers": patterns}).pattern(NAMES) == expected


@pytest.mark.parametrize(
    ("ranks", "rank", "expected"),
    [(None, None, True), ([0, 1], 1, True), ([0, 1], 2, False), ([0], None, False)],
)
def test_ranks_select_workers(ranks: list[int] | None, rank: int | None, expected: bool) -> None:
    assert ProfileSettings({"ranks": ranks}).selects_rank(rank) is expected


def settings(**more: Any) -> RunSettings:
    return RunSettings({"workers": ["Driver*"], "profile": {"workers": ["*Policy*"]}, **more})


def test_only_recorded_workers_have_a_proxy_in_a_run_without_debugging() -> None:
    assert settings().workers == ["*Policy*"]
    assert settings(post_mortem=True).workers == ["Driver*"]
    lines = [{"path": "/a.py", "lines": [{"line": 1}]}]
    assert settings(breakpoints=lines, ranks=[2]).ranks == [2] and settings(ranks=[2]).ranks is None
    assert RunSettings({"workers": ["Driver*"]}).workers == ["Driver*"]


def test_created_actors_get_the_request_and_their_children_an_empty_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    of_driver = ProfileRequests(settings())
    said = of_driver.for_actor("m", "f.<locals>.PolicyWorker", "a$b", None)
    assert said is not None and "$" not in said
    assert read_profile_request({VARIABLE: said}) == {
        "pattern": "*Policy*",
        "module": "m",
        "class": "f.<locals>.PolicyWorker",
        "name": "a$b",
    }
    assert of_driver.for_actor("m", "Reward", "", None) is None and of_driver.for_task() is None
    monkeypatch.setenv(VARIABLE, said)
    of_recorded = ProfileRequests(settings())
    # Ray would hand it down to them.
    assert of_recorded.for_actor("m", "Reward", "", None) == "" == of_recorded.for_task()
    assert of_recorded.for_actor("m", "PolicyWorker", "", None)
    assert read_profile_request({VARIABLE: ""}) is None
    assert (
        ProfileRequests(RunSettings({})).for_actor("m", "PolicyWorker", "", {"_nsight": {}}) == ""
    )


def test_nsight_of_a_framework_stays_and_its_reports_are_gathered() -> None:
    given = {"_nsight": {"t": "cuda"}, "env_vars": {"A": "1"}, "py_executable": "uv run python"}
    wishes = ProfileRequests(settings())
    said = wishes.for_actor("m", "Reward", "", given)
    assert said is not None and json.loads(said)["pattern"] == "(nsight)"
    extended = with_profile_request(given, said)
    nsight = {"t": "cuda", "wait": "primary"}
    assert extended == {**given, "env_vars": {"A": "1", VARIABLE: said}, "_nsight": nsight}
    assert given["env_vars"] == {"A": "1"}
    assert not ProfileRequests(RunSettings({})).is_by_framework(given)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        # As RLinf starts its workers.
        (
            "nsys profile --trace=cuda -o '/logs/w_%p' /venv/bin/python",
            "nsys profile --wait=primary --trace=cuda -o '/logs/w_%p' /venv/bin/python",
        ),
        (
            "/opt/nsys profile --wait=primary -o x python",
            "/opt/nsys profile --wait=primary -o x python",
        ),
        # Its own option stays; and programs other than nsys are not changed.
        ("nsys profile --wait all -o x python", None),
        ("uv run --with nsys profile", None),
        ("/opt/nsys-wrapper profile python", None),
        ("nsys launch python", None),
        (None, None),
    ],
)
def test_program_that_is_nsys_itself_stays_and_its_reports_are_gathered(
    program: str | None, expected: str | None
) -> None:
    given = {"py_executable": program, "env_vars": {"A": "1"}}
    said = ProfileRequests(settings()).for_actor("m", "Reward", "", given)
    assert (said is not None) == (expected is not None)
    extended = with_profile_request(given, said or "x")
    assert extended["py_executable"] == (expected or program)
    assert with_profile_request(given, "")["py_executable"] == program


@pytest.mark.parametrize("nothing", [{}, "", None])
def test_empty_nsight_stays_empty(nothing: Any) -> None:
    """Ray would put the worker under the words of another one, and does so all the more with words of ours."""
    given = {"_nsight": nothing}
    assert with_profile_request(given, "x") == {"_nsight": nothing, "env_vars": {VARIABLE: "x"}}


def test_ray_keeps_a_copied_nsight() -> None:
    """Its own kind of runtime_env has it under another name than the one by which it was said."""
    from eagleray.remote.injected.hooks.actor_creation import parsed
    from ray.runtime_env import RuntimeEnv

    given = RuntimeEnv(nsight="default", env_vars={"A": "1"})
    assert given[NSIGHT] == "default"
    kept = parsed(with_profile_request(given, "x"))
    assert kept[NSIGHT]["wait"] == "primary" and kept["env_vars"][VARIABLE] == "x"
    assert set(kept[NSIGHT]) > {"t", "o"}


def test_variable_contains_nothing_that_ray_expands() -> None:
    assert "$" not in profile_request("$HOME*", "m", "$A", "")
