"""`eagleray profile`: options, progress, matching classes, requests to debug proxies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.adapter.runs.process_info import read_process_info
from eagleray.cli import main as cli
from eagleray.cli.profile.profile import plan_of, preview_lines
from eagleray.cli.runs.run_following import Progress, exit_code, summary
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings.class_matches import match_classes
from eagleray.profile.recordings.handlers import percentage, progress_text, wire_run
from eagleray.profile.recordings.model import RunProfile
from eagleray.ray.rows import ActorRow, RuntimeEnv
from eagleray.runs import injected_config
from eagleray.runs.model import (
    ProfilePlan,
    ProfileState,
    RunPlan,
    RunState,
    WorkerProfile,
    plan_of_json,
    plan_to_json,
)
from eagleray.runs.planner import validate_profile
from eagleray.runs.records import RunRecord, StoredRun
from eagleray.tools.code_copies import Package

LOG_MESSAGE = "Nsight profiling enabled for worker 'p' (matched pattern '*p*')"


def profile_plan(*arguments: str) -> ProfilePlan:
    _, parsed = cli.parse(["profile", *arguments, "--", "true"])
    return plan_of(parsed)


def test_options_become_a_profile_plan() -> None:
    plan = profile_plan("--workers", " *policy* , ,*vllm*", "--steps", "3:5", "--ranks", "0,2-3")
    assert (plan.workers, plan.when, plan.steps) == (("*policy*", "*vllm*"), "steps", "3:5")
    assert plan.ranks == (0, 2, 3) and plan.trace == "cuda,nvtx,osrt"
    assert profile_plan("--workers", "*", "--steps", "3").steps == "3:4"
    assert profile_plan("--workers", "*").when == "always"
    assert profile_plan("--workers", "*", "--on-demand").when == "on-demand"
    seconds = profile_plan("--workers", "*", "--seconds", "2.5", "--option=--sample=none")
    assert (seconds.when, seconds.seconds, seconds.options) == ("seconds", 2.5, {"sample": "none"})
    assert profile_plan("--workers", "*", "--output", "x").output == str(Path("x").absolute())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--workers", " , "),
        ("--workers", "*", "--steps", "5:3"),
        ("--workers", "*", "--steps", "a:b"),
        ("--workers", "*", "--seconds", "-1"),
        ("--workers", "*", "--trace", "cuda;rm"),
        ("--workers", "*", "--option", "output=/x"),
        ("--workers", "*", "--option", "a b=1"),
    ],
)
def test_invalid_profile_is_rejected(arguments: tuple[str, ...]) -> None:
    with pytest.raises(EaglerayError) as raised:
        profile_plan(*arguments)
    assert raised.value.code == "bad-profile"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["profile"], "after `--`"),
        (["profile", "--", "train"], "--workers"),
        (["profile", "--record", "r", "--stop", "r"], "Use only one of"),
        (["profile", "--gather", "r", "--", "train"], "Use only one of"),
        (["profile", "--steps", "--seconds", "3", "--", "train"], "not allowed with"),
    ],
)
def test_wrong_command_line_is_rejected(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(arguments)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["-3", "nan", "1e9"])
def test_recording_without_length_is_rejected(
    seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would last until the end of the worker."""
    assert cli.main(["profile", "--record", "r", "--seconds", seconds]) == 1
    assert "at most a day" in capsys.readouterr().err


def test_profile_plan_is_stored_and_sent_to_workers() -> None:
    profile = validate_profile(ProfilePlan(("*p*",), when="seconds", seconds=3, output="/o"))
    plan = RunPlan(kind="program", argv=("python", "x"), cwd="/w", name="x", profile=profile)
    assert plan_of_json(plan_to_json(plan)) == plan
    besides = injected_config.InjectedConfig(
        "r", "v", Package("p", {}), reports="/r", reader="2022.4", nsys="/opt/nsys"
    )
    encoded = injected_config.encode_config(plan, besides)
    assert (
        '"reports":"/r","reader":"2022.4","preferred_nsys":"/opt/nsys"' in encoded
        and '"workers":["*p*"]' in encoded
        and '"/o"' not in encoded
    )
    assert '"profile"' not in injected_config.encode_config(evolve(plan, profile=None), besides)


def worker(state: Any, **more: Any) -> WorkerProfile:
    return WorkerProfile("k", "w1", 7, "p", "n1", state, **more)


def test_progress_prints_each_line_once() -> None:
    progress = Progress()
    ready = ProfileState("/o", workers=(worker("armed", said=LOG_MESSAGE),))
    assert progress.lines(None) == []
    assert progress.lines(ready) == [LOG_MESSAGE] and progress.lines(ready) == []
    recording = ProfileState("/o", workers=(worker("recording", said=LOG_MESSAGE),))
    assert progress.lines(recording) == ["p (pid 7 on n1) is recording"]
    writing = ProfileState("/o", workers=(worker("writing"),), files=("/o/a.nsys-rep",))
    assert progress.lines(writing) == [
        "p (pid 7 on n1) is writing its report",
        "Downloaded /o/a.nsys-rep",
    ]
    assert progress.lines(writing) == []
    recorded = worker("writing", reports=("/o/a.nsys-rep", "/o/b.nsys-rep"))
    another = ProfileState("/o", workers=(recorded,), files=recorded.reports)
    assert progress.lines(another) == ["Downloaded /o/b.nsys-rep of p"]
    failed = ProfileState("/o", "failed", "No room.", files=recorded.reports)
    assert progress.lines(failed) == ["No room."] and progress.lines(failed) == []


def test_text_of_a_node_does_not_control_the_terminal() -> None:
    hostile = ProfileState("/o", workers=(worker("missing", problem="no nsys\x1b[2J\non n1"),))
    assert Progress().lines(hostile) == ["no nsys [2J on n1"]


def test_summary_counts_reports() -> None:
    assert "No worker has a class or name" in summary(ProfileState("/o"))
    some = ProfileState("/o", workers=(worker("ended"),), expected=3, gathered=1)
    assert summary(some).startswith("1 report in /o. 2 reports are missing. Reports hold")
    assert summary(replace(some, gathered=0)) == "0 reports in /o. 3 reports are missing."


@pytest.mark.parametrize(
    ("phase", "code", "profile", "exits"),
    [
        ("cancelled", 130, ProfileState("/o", expected=2, gathered=2), 0),
        ("cancelled", 1, None, 1),
        ("cancelled", 130, ProfileState("/o", expected=2, gathered=1), 1),
        ("failed", 7, ProfileState("/o", expected=2, gathered=2), 7),
        ("failed", None, None, 1),
        ("exited", 0, None, 0),
    ],
)
def test_run_that_the_user_finished_has_succeeded(
    tmp_path: Path, phase: Any, code: int | None, profile: ProfileState | None, exits: int
) -> None:
    plan = RunPlan(kind="program", argv=("x",), cwd="/w", name="x", profile=ProfilePlan(("*",)))
    state = RunState(phase, 1.0, code=code, profile=profile)
    record = RunRecord("r", tmp_path)
    assert exit_code(StoredRun(record, plan, state)) == exits
    plain = evolve(plan, profile=None)
    assert exit_code(StoredRun(record, plain, state)) == (code if code is not None else exits)


def actor(class_name: str, state: str = "ALIVE", name: str = "") -> ActorRow:
    return ActorRow("a", class_name, name, "", state, "j", "n", 1, 0, "", RuntimeEnv())


def test_preview_lists_matching_classes() -> None:
    actors = [
        actor("DTensorPolicyWorker"),
        actor("DTensorPolicyWorker", "DEAD"),
        actor("nemo.VllmWorker", "DEAD"),
        actor("Reward"),
        actor("Reward", name="policy-judge"),
    ]
    matches = match_classes(actors, ["*Policy*", "Vllm*", "policy-*"])
    assert [(item.name, item.running, item.matched_by) for item in matches] == [
        ("DTensorPolicyWorker", 1, "*Policy*"),
        ("policy-judge", 1, "policy-*"),
        ("nemo.VllmWorker", 0, "Vllm*"),
        ("Reward", 1, ""),
    ]
    assert preview_lines(matches, ())[0] == "DTensorPolicyWorker fits *Policy* (1 running)"
    nobody = match_classes(actors[3:4] + actors[:1], ["x"])
    (line,) = preview_lines(nobody, ("x",))
    assert "None of the 2 classes" in line
    assert (
        "Ray lists classes without their modules." in preview_lines(nobody, ("x", "trainer.*"))[1]
    )


def test_profiled_run_is_converted_for_the_editor() -> None:
    state = ProfileState(
        "/o",
        "recording",
        expected=2,
        gathered=1,
        bytes=10,
        done_bytes=4,
        workers=(
            worker("recording", said=LOG_MESSAGE),
            worker("missing", problem="no nsys on n1"),
            worker("armed", whole=("a",), reports=("/o/a",)),
            worker("ended", whole=("a", "b"), reports=("/o/a",)),
        ),
    )
    run = RunProfile("r", Path("/t"), Path("/o"), "c", False, True, state)
    wire = wire_run(run)
    assert (wire.state, wire.expected, wire.gathered, wire.output) == ("recording", 2, 1, "/o")
    assert [item.state for item in wire.workers] == ["recording", "missing", "gathered", "profiled"]
    assert [item.sentence for item in wire.workers[:2]] == [LOG_MESSAGE, "no nsys on n1"]
    assert (percentage(state), progress_text(state)) == (40, "1 of 2 reports, still recording")
    assert wire_run(evolve(run, state=None)).state == "idle"


def test_workers_with_reports_are_in_the_order_of_their_ranks() -> None:
    names = [
        ("policy-10", 10),
        ("rollout-0", 0),
        ("policy-2", 2),
        ("policy-0", 0),
        ("Reward", None),
    ]
    workers = tuple(ended_worker(name, rank) for name, rank in names)
    run = RunProfile(
        "r", Path("/t"), Path("/o"), "c", True, True, ProfileState("/o", workers=workers)
    )
    assert [(item.name, item.rank) for item in wire_run(run).workers] == [
        ("Reward", None),
        ("policy-0", 0),
        ("policy-2", 2),
        ("policy-10", 10),
        ("rollout-0", 0),
    ]


def ended_worker(name: str, rank: int | None) -> WorkerProfile:
    return WorkerProfile(name, name, 7, name, "n1", "ended", rank=rank)


def test_profile_state_of_a_debug_proxy_is_text() -> None:
    assert read_process_info({"profile": {"state": "armed"}}).profile == "armed"
    assert (
        read_process_info({"profile": "armed"}).profile
        == read_process_info({"profile": {"state": 3}}).profile
        == ""
    )
