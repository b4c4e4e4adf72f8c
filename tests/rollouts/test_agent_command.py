"""`eagleray agent run` and `wave`: what they print, and their exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from eagleray.cli.json_schemas import SHAPES, json_schema
from eagleray.cli.rollouts.agent_shapes import AGENT_RUN, AGENT_WAVE
from eagleray.tools.code_copies import self_command

from tests.asked import ask
from tests.rollouts.observed import KEY, PROGRAMS


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "data.jsonl"
    file.write_text("".join(f'{{"n": {n}}}\n' for n in range(1, 5)))
    return file


def arguments(verb: str, target: str, data: object, *more: str) -> list[str]:
    program = f"{PROGRAMS / 'plain_agents.py'}:{target}"
    server = ["--server", "http://127.0.0.1:9/v1", "--python", sys.executable]
    return ["agent", verb, program, "--data", str(data), *server, *more]


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "EAGLERAY_HOME": str(home), "OPENAI_API_KEY": KEY}


def as_json(
    home: Path, verb: str, target: str, data: object, *more: str
) -> tuple[int, dict[str, Any]]:
    done = ask(environment(home), *arguments(verb, target, data, "--json", *more))
    assert KEY not in done.stdout + done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    jsonschema.Draft202012Validator(json_schema(f"agent-{verb}")).validate(value)
    return done.returncode, value


def test_run_is_one_object(own_home: Path, data: Path) -> None:
    code, value = as_json(own_home, "run", "Item", f"{data}:2")
    assert code == 0
    assert list(value) == list(AGENT_RUN)
    assert (value["result"], value["error"], value["item"]) == (2.0, None, 2)
    assert all(list(rule) == ["rule", "ok", "text"] for rule in value["contract"])


def test_error_of_a_run_has_its_line(own_home: Path, data: Path) -> None:
    code, value = as_json(own_home, "run", "Item", f"{data}:3")
    assert code == 1
    assert value["error"]["type"] == "KeyError"
    assert value["error"]["file"] == str(PROGRAMS / "plain_agents.py")


def test_rejected_result_is_an_error(own_home: Path, data: Path) -> None:
    code, value = as_json(own_home, "run", "Returns", data, "--kwargs", '{"value": 1}')
    assert (code, value["result"], value["outcome"]) == (1, 1, "rejected")
    assert "Invalid reward type: <class 'int'>" in value["error"]["message"]


def test_agent_that_is_refused_is_not_run(own_home: Path, data: Path) -> None:
    code, value = as_json(own_home, "run", "NotAsync", data)
    assert (code, value["outcome"], value["result"]) == (1, "not-run", None)


def test_wave_is_one_object(own_home: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "traces.jsonl"
    code, value = as_json(
        *(own_home, "wave", "Item", data),
        *("--groups", "4", "--group-size", "2", "--out", str(out)),
    )
    assert code == 1
    assert list(value) == list(AGENT_WAVE)
    assert (value["runs"], value["done"], value["failed"]) == (8, 6, 2)
    assert set(value["loop_lag_ms"]) == {"p50", "max"}
    assert [failure["item"] for failure in value["failures"]] == [3, 3]
    assert sum(each["count"] for each in value["rewards"]) == 6
    traces = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(trace["index"] for trace in traces) == list(range(8))


def test_text_names_what_failed(own_home: Path, data: Path) -> None:
    done = ask(environment(own_home), *arguments("wave", "Item", data, "--groups", "3"))
    assert "24 runs: 16 done, 8 failed in " in done.stdout
    assert "8 × KeyError: 'answer' (first in item 3)" in done.stdout
    assert "✓ `run` is an async function." in done.stdout


@pytest.mark.parametrize(
    ("target", "more", "message"),
    [
        ("Good", ("--data", "none.jsonl"), "Can't read none.jsonl: No such file"),
        ("Good", ("--kwargs", "[1]"), "The arguments of the class are not a JSON object: list."),
        ("Good", ("--python", "/no/python"), "/no/python couldn't start the agent."),
        ("not a class", (), "doesn't name a class."),
        ("Good", ("--server", "no-such-server"), "no-such-server"),
        ("Good", ("--out", "/no/folder/out.jsonl"), "Can't write /no/folder/out.jsonl"),
    ],
)
def test_wrong_argument_is_named(
    own_home: Path, data: Path, target: str, more: tuple[str, ...], message: str
) -> None:
    done = ask(environment(own_home), *arguments("run", target, data, *more))
    assert done.returncode == 1 and done.stdout == ""
    assert message in done.stderr


def test_interrupted_wave_prints_what_there_is(own_home: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "traces.jsonl"
    more = ("--json", "--groups", "3", "--group-size", "1", "--timeout", "0", "--out", str(out))
    with subprocess.Popen(
        self_command("cli", *arguments("wave", "NeverEnds", data, *more)),
        env=environment(own_home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "waits for ever\n"
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    value = json.loads(printed)
    assert process.returncode == 130
    assert (value["interrupted"], value["done"], value["cancelled"]) == (True, 2, 1)


def test_shapes_have_what_scripts_rely_on() -> None:
    run, wave = SHAPES["agent-run"][1], SHAPES["agent-wave"][1]
    assert {"result", "error", "contract"} <= set(run)
    assert {"runs", "failed", "max_in_flight", "loop_lag_ms", "verdicts"} <= set(wave)
