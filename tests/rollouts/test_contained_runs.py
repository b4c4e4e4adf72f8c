"""Whatever one run does, the others continue and their results are kept."""

from __future__ import annotations

import asyncio
import json
import math
import stat
from pathlib import Path

import pytest
from eagleray.rollouts.agents import runner_process
from eagleray.rollouts.agents.model import Mode, Observed
from eagleray.rollouts.agents.statistics import wave_statistics
from eagleray.rollouts.agents.verdicts import verdicts

from tests.ray_cluster import wait_for
from tests.rollouts.observed import KEY, PROGRAMS, observe, plan_of

LINES = (PROGRAMS / "plain_agents.py").read_text().splitlines()


def line_of(text: str, after: str) -> int:
    """The number of the first line with `text` in the class `after`."""
    start = LINES.index(f"class {after}:")
    return next(n for n, line in enumerate(LINES[start:], start + 1) if text in line)


def outcomes(observed: Observed) -> list[str]:
    return [run.outcome for run in observed.runs]


async def test_run_that_raises_ends_alone(own_home: Path) -> None:
    observed = await observe(plan_of("Item", groups=4, group_size=2))
    assert outcomes(observed) == [*["done"] * 4, *["failed"] * 2, *["done"] * 2]
    failed = observed.runs[4]
    assert failed.error is not None
    assert (failed.item, failed.group, failed.member) == (3, 2, 0)
    assert (failed.error.type, failed.error.message) == ("KeyError", "'answer'")
    assert (failed.error.file, failed.error.line) == (
        str(PROGRAMS / "plain_agents.py"),
        line_of("raise KeyError", "Item"),
    )
    figures = wave_statistics(observed)
    assert (figures.done, figures.failed, figures.mean_reward) == (6, 2, 7 / 3)


@pytest.mark.parametrize("target", ["Exits", "RaisesBase"])
async def test_exception_that_ends_programs_ends_one_run(own_home: Path, target: str) -> None:
    observed = await observe(plan_of(target, groups=3))
    assert outcomes(observed) == ["done", "failed", "done"]
    assert observed.ending == ""


async def test_exit_in_a_task_of_the_agent_ends_no_run(own_home: Path) -> None:
    assert outcomes(await observe(plan_of("ExitsInTask", groups=3))) == ["done"] * 3


async def test_exception_without_a_text_is_reported(own_home: Path) -> None:
    [run] = (await observe(plan_of("RaisesUnprintable"))).runs
    assert run.error is not None
    assert run.error.message == "RuntimeError in __str__"


async def test_end_of_the_program_keeps_what_was_done(own_home: Path) -> None:
    observed = await observe(plan_of("EndsProcess", groups=3))
    assert observed.ending == "The program of the agent ended with exit code 7."
    assert wave_statistics(observed).failed == 3 - len(observed.runs)


async def test_end_of_one_process_of_a_pool_fails_one_run(own_home: Path, tmp_path: Path) -> None:
    (tmp_path / "ending.py").write_text(
        "import os\n"
        "class Agent:\n"
        "    async def run(self, data):\n"
        "        if data['n'] == 2: os._exit(7)\n"
        "        return 1.0\n"
    )
    plan = plan_of("ending:Agent", groups=4, mode="subproc", cwd=str(tmp_path))
    observed = await observe(plan)
    assert outcomes(observed) == ["done", "failed", "done", "done"]
    assert observed.runs[1].error is not None
    assert observed.runs[1].error.type == "AgentEnded"


@pytest.mark.parametrize("target", ["NeverEnds", "SwallowsCancellation"])
async def test_run_that_never_ends_times_out_alone(own_home: Path, target: str) -> None:
    observed = await observe(plan_of(target, groups=3, timeout_s=0.2))
    assert outcomes(observed) == ["done", "timeout", "done"]
    [verdict] = verdicts(observed)
    assert (verdict.kind, verdict.sentence) == ("timeout", "1 run took longer than 0.2 s.")
    assert verdict.line == line_of("await asyncio.Event().wait()", target)


@pytest.mark.parametrize("mode", ["inline", "subproc"])
async def test_call_that_never_returns_is_named(own_home: Path, tmp_path: Path, mode: Mode) -> None:
    (tmp_path / "holding.py").write_text(
        "import threading\n"
        "class Agent:\n"
        "    async def run(self, data, **extra_kwargs):\n"
        "        threading.Event().wait()\n"
    )
    plan = plan_of("holding:Agent", mode=mode, timeout_s=0.2, cwd=str(tmp_path))
    observed = await observe(plan)
    assert outcomes(observed) == ["timeout"]
    kinds = {verdict.kind: (verdict.file, verdict.line) for verdict in verdicts(observed)}
    place = (str(tmp_path / "holding.py"), 4)
    expected = {"timeout": place}
    # A process of its own may be held by its only run.
    assert kinds == ({"blocking-call": place} | expected if mode == "inline" else expected)


async def test_blocking_call_is_named_by_its_line(own_home: Path) -> None:
    observed = await observe(plan_of("Sleeps", groups=4, group_size=2))
    assert observed.totals.max_in_flight == 1
    [verdict] = verdicts(observed)
    assert verdict.kind == "blocking-call"
    assert verdict.line == line_of("time.sleep", "Sleeps")
    assert verdict.sentence.startswith("`time.sleep(0.1)` blocked the event loop for ")


async def test_output_of_an_agent_is_passed_on_up_to_a_limit(own_home: Path) -> None:
    sizes: list[int] = []
    observed = await observe(plan_of("Prints"), on_output=lambda chunk: sizes.append(len(chunk)))
    assert outcomes(observed) == ["done"]
    assert 1024 * 1024 < sum(sizes) < 1024 * 1024 + 200


async def test_key_is_in_no_output_and_no_trace(own_home: Path, tmp_path: Path) -> None:
    printed: list[bytes] = []
    trace = tmp_path / "trace.jsonl"
    observed = await observe(plan_of("PrintsKey"), on_output=printed.append, trace=trace)
    assert b"".join(printed).startswith("key …".encode())
    assert KEY not in repr(observed) and KEY not in trace.read_text()
    assert stat.S_IMODE(trace.stat().st_mode) == 0o600
    assert json.loads(trace.read_text())["exception"]["type"] == "ValueError"


async def test_threads_that_are_left_end_with_the_program(own_home: Path) -> None:
    observed = await observe(plan_of("StartsThreads"))
    assert outcomes(observed) == ["done"]
    assert observed.threads == ("left-behind",)


async def test_agent_reads_no_input_of_ours(own_home: Path) -> None:
    [run] = (await observe(plan_of("ReadsInput"))).runs
    assert run.reward == 0.0


async def test_interrupted_wave_keeps_what_was_done(own_home: Path) -> None:
    stop = asyncio.Event()
    plan = plan_of("NeverEnds", groups=3, timeout_s=None)

    def once_done(progress: object) -> None:
        if getattr(progress, "done", 0) == 2:
            stop.set()

    observed = await observe(plan, stop, on_progress=once_done)
    assert outcomes(observed) == ["done", "cancelled", "done"]
    assert observed.is_interrupted and observed.ending == ""


async def test_stop_ends_a_program_none_of_whose_threads_runs(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that reports would have all the time."""
    monkeypatch.setattr(runner_process, "_STOP_S", math.inf)
    monkeypatch.setattr(runner_process, "_SILENT_S", 1.0)
    (tmp_path / "held.py").write_text(
        "import os, pathlib, signal\n"
        "class Agent:\n"
        "    async def run(self, data, **extra_kwargs):\n"
        "        pathlib.Path('held').touch()\n"
        "        os.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    stop = asyncio.Event()
    observing = asyncio.ensure_future(observe(plan_of("held:Agent", cwd=str(tmp_path)), stop))
    while not (tmp_path / "held").exists():
        await asyncio.sleep(0.01)
    stop.set()
    observed = await observing
    assert (observed.is_interrupted, observed.runs) == (True, ())


@pytest.mark.parametrize("mode", ["inline", "subproc"])
async def test_trace_has_what_each_run_printed(own_home: Path, tmp_path: Path, mode: Mode) -> None:
    """Runs take turns in one loop; each has its own lines, up to its exception."""
    trace = tmp_path / "trace.jsonl"
    output: list[bytes] = []
    plan = plan_of("PrintsInTurns", groups=3, group_size=2, mode=mode)
    await observe(plan, on_output=output.append, trace=trace)
    traces = [json.loads(line) for line in trace.read_text().splitlines()]
    assert len(traces) == 6
    for each in traces:
        lines = [f"{each['item']} begins", f"{each['item']} warns", f"{each['item']} ends"]
        assert each["printed"].splitlines() == lines
    # The streams get it all the same; processes mix the parts of their lines there.
    assert b"".join(output).decode().count("ends") == 6


async def test_prints_of_a_run_are_bounded_and_have_no_key(own_home: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    await observe(plan_of("PrintsMuch", arguments={"token": "hf_" + "a" * 30}), trace=trace)
    text = trace.read_text()
    printed = json.loads(text)["printed"]
    assert 15_000 < len(printed) < 16 * 1024
    assert printed.startswith("…\nline ") and "line 9999\n" in printed
    assert KEY not in text and "hf_aaa" not in printed
    assert printed.endswith("the end\n")


async def test_progress_has_what_a_view_draws(own_home: Path) -> None:
    reports: list[object] = []
    await observe(plan_of("Good", groups=2), on_progress=reports.append)
    last = reports[-1]
    assert (getattr(last, "runs", 0), getattr(last, "done", 0)) == (2, 2)


async def test_nothing_of_a_runner_is_left(own_home: Path, tmp_path: Path) -> None:
    """A process that an agent started ends with the runner."""
    (tmp_path / "starting.py").write_text(
        "import subprocess\n"
        "class Agent:\n"
        "    async def run(self, data, **extra_kwargs):\n"
        "        return float(subprocess.Popen(['sleep', '1000']).pid)\n"
    )
    [run] = (await observe(plan_of("starting:Agent", cwd=str(tmp_path)))).runs
    assert run.reward is not None
    pid = int(run.reward)
    # The kill has no answer.
    wait_for("the end of what the agent has started", lambda: has_ended(pid))


def has_ended(pid: int) -> bool:
    """Its new parent may not have waited for it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
