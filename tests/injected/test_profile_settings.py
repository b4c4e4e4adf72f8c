"""The rules of profiling: who is meant, what is said to those who are created, what nsys is told and where it writes."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from eagleray.injected import helper_process
from eagleray.injected.nsys import (
    arguments,
    framework_nsys,
    launch,
    node_reports,
    profile_settings,
)
from eagleray.injected.nsys.profile_settings import (
    VARIABLE,
    ProfileRequests,
    ProfileSettings,
    profile_request,
    read_profile_request,
    with_profile_request,
)
from eagleray.injected.settings import RunSettings
from eagleray.injected.worker_patterns import matchable_names

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
        # What it is told stays; and what is not nsys is nothing of ours.
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
    from eagleray.injected.hooks.creations import parsed
    from ray.runtime_env import RuntimeEnv

    given = RuntimeEnv(nsight="default", env_vars={"A": "1"})
    assert given[profile_settings.NSIGHT] == "default"
    kept = parsed(with_profile_request(given, "x"))
    assert kept[profile_settings.NSIGHT]["wait"] == "primary" and kept["env_vars"][VARIABLE] == "x"
    assert set(kept[profile_settings.NSIGHT]) > {"t", "o"}


@pytest.mark.parametrize(
    ("values", "standing_by", "recording"),
    [
        (
            {"trace": "nvtx,osrt"},
            ["launch", "--session-new=s", "--trace=nvtx,osrt", "--wait=primary"],
            ["--sample=none", "--cpuctxsw=none"],
        ),
        (
            {"trace": "nvtx", "when": "steps"},
            ["launch", "--session-new=s", "--trace=cuda,nvtx", "--wait=primary", "--cuda-graph-trace=node"],
            ["--capture-range=cudaProfilerApi", "--capture-range-end=stop", "--sample=none", "--cpuctxsw=none"],
        ),
        (
            {"options": {"t": "mpi", "s": "cpu", "kill": "sigterm", "d": "5", "trace-fork-before-exec": "true", "python-sampling": ""}},
            ["launch", "--session-new=s", "--trace=mpi", "--wait=primary", "--trace-fork-before-exec=true", "--python-sampling"],
            ["--sample=cpu", "--cpuctxsw=none"],
        ),
    ],
)  # fmt: skip
def test_settings_become_arguments_of_nsys(
    values: dict[str, Any], standing_by: list[str], recording: list[str]
) -> None:
    profile = ProfileSettings(values)
    assert arguments.to_launch(profile, "s") == standing_by
    begun = arguments.to_record(profile, "s", "/o/r", in_ranges=profile.when == "steps")
    assert begun[:2] == ["start", "--session=s"] and "--force-overwrite=true" in begun
    assert sorted(begun[4:]) == sorted(recording)


def test_requested_recording_has_no_capture_range() -> None:
    profile = ProfileSettings({"when": "steps", "options": {"capture-range": "nvtx"}})
    assert not [word for word in arguments.to_record(profile, "s", "/o") if "range" in word]


def test_reports_go_to_the_shared_folder_or_to_the_logs_of_ray(tmp_path: Path) -> None:
    session = tmp_path / "session"
    (session / "logs").mkdir(parents=True)
    shared = tmp_path / "reports"
    assert node_reports.folder_for(str(shared), str(session), "r") == f"{session}/logs/eagleray/r"
    shared.mkdir(mode=0o700)
    assert node_reports.folder_for(str(shared), str(session), "r") == str(shared)
    assert node_reports.folder_for("", str(session), "../r") == f"{session}/logs/eagleray/___r"
    with pytest.raises(FileNotFoundError):
        node_reports.folder_for("", "", "r")


@pytest.mark.parametrize("ids", [("a1b2c3d4" * 7, "e5f6a7b8" * 7), ("", "")])
def test_equal_pids_in_two_containers_get_two_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: tuple[str, str]
) -> None:
    """They share the name of the host and the folder, and each counts its processes from 1."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    monkeypatch.setattr(socket, "gethostname", lambda: "node-1")
    asked = {"pattern": "*", "module": "m", "class": "Policy", "name": ""}
    settings = RunSettings({"run": "r", "profile": {"workers": ["*"]}})
    for worker_id in ids:
        known = launch.worker_facts(settings, asked, [f"--worker-id={worker_id}"])
        path = tmp_path / f"{node_reports.stem(known)}.worker.json"
        node_reports.write_json(str(path), known)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert len(names) == 2 and all(name.startswith("Policy.node-1.7-") for name in names)


def test_folder_in_the_logs_of_ray_is_closed_to_other_users(tmp_path: Path) -> None:
    """Everybody may write into these logs, and a report holds the environments of processes."""
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o777)
    (logs / "eagleray").mkdir(mode=0o755)
    ours = Path(node_reports.folder_for("", str(tmp_path), "r"))
    assert {stat.S_IMODE(one.stat().st_mode) for one in (ours, ours.parent)} == {0o700}
    ours.rmdir()
    ours.symlink_to(tmp_path)
    with pytest.raises(OSError, match="not a folder of this user"):
        node_reports.folder_for("", str(tmp_path), "r")


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"class": "PolicyWorker", "host": "n1.site.example", "pid": 7}, "PolicyWorker.n1.7"),
        ({"class": "m.A", "host": "n1", "pid": 7, "mark": "5f3c21ab"}, "A.n1.7-5f3c21ab"),
        ({"class": "f.<locals>.A:B/..", "host": "a b", "pid": 7}, "_.a_b.7"),
        ({"class": "make.<locals>.A:2", "host": "", "pid": 7}, f"A_2.{socket.gethostname().partition('.')[0]}.7"),
    ],
)  # fmt: skip
def test_report_names_contain_class_host_and_pid(known: dict[str, Any], expected: str) -> None:
    assert node_reports.stem(known) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nsys", "profile", "-o", "/a/w_%p"], "/a/w_7"),
        (["nsys", "profile", "--output=w_%h_%q{RANK}%%"], f"/logs/w_{socket.gethostname()}_3%"),
        (["nsys", "profile", "--output", "/a/r.nsys-rep"], "/a/r"),
        (["nsys", "profile"], "/logs/report"),
    ],
)
def test_output_of_the_frameworks_nsys_is_parsed(words: list[str], expected: str) -> None:
    assert framework_nsys.output_of(words, "/logs", {"RANK": "3"}, 7) == expected


def test_reports_of_the_frameworks_nsys_are_found_by_pid(tmp_path: Path) -> None:
    """Another worker, whose number begins with that of this one, keeps its own."""
    for name in ("w[_12.nsys-rep", "w[_12.3.nsys-rep", "w[_123.nsys-rep", "w[_12.qdstrm"):
        (tmp_path / name).touch()
    found = framework_nsys.reports_of(str(tmp_path / "w[_12"))
    assert [Path(one).name for one in found] == ["w[_12.3.nsys-rep", "w[_12.nsys-rep"]


def test_arguments_of_nsys_end_before_the_interpreter() -> None:
    words = [
        "nsys",
        "profile",
        "--python-sampling=true",
        "-o",
        "x",
        "/venv/bin/python3",
        "-u",
        "a.py",
    ]
    assert framework_nsys.nsys_arguments(words) == words[1:5]


def test_nsys_of_a_framework_does_not_record_our_watcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environs: list[dict[str, str]] = []
    monkeypatch.setattr(helper_process, "spawn", lambda *words: environs.append(words[-1]))
    monkeypatch.setenv("LD_PRELOAD", "/opt/nsys/injection.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/python/lib")
    launch._start_watcher(str(tmp_path), {})
    (environ,) = environs
    assert "LD_PRELOAD" not in environ and environ["LD_LIBRARY_PATH"] == "/opt/python/lib"


def test_process_without_nsys_has_no_framework_nsys() -> None:
    assert framework_nsys.framework_nsys(dict(os.environ)) is None


def test_options_of_ray_describe_the_worker(tmp_path: Path) -> None:
    words = ["python", "default_worker.py", f"--temp-dir={tmp_path}", "--session-name=session_1", "--node-id=ab"]  # fmt: skip
    assert launch.session_dir(words) == str(tmp_path / "session_1")
    said = {"module": "m", "class": "A", "name": "policy-3", "pattern": "*"}
    known = launch.worker_facts(settings(run="r1"), said, words)
    assert (known["node_id"], known["rank"], known["run"], known["agent_port"]) == (
        "ab",
        "3",
        "r1",
        0,
    )
    (tmp_path / "session_1").mkdir()
    (tmp_path / "session_1" / "dashboard_agent_listen_port_ab").write_text("52365")
    assert launch.agent_port(str(tmp_path / "session_1"), "ab") == 52365


def test_workers_with_equal_hosts_and_pids_get_files_of_their_own() -> None:
    said = {"module": "m", "class": "A", "name": "", "pattern": "*"}
    words = [["--worker-id=5f3c21ab00"], ["--worker-id=aa3c21ab00"], [], []]
    known = [launch.worker_facts(settings(), said, one) for one in words]
    stems = [node_reports.stem({**one, "host": "n", "pid": 7}) for one in known]
    assert stems[:2] == ["A.n.7-5f3c21ab", "A.n.7-aa3c21ab"] and len(set(stems)) == 4


def test_variable_contains_nothing_that_ray_expands() -> None:
    assert "$" not in profile_request("$HOME*", "m", "$A", "")
