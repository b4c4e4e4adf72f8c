"""The JSON schemas of `eagleray schema`, and that the commands print what they promise."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from eagleray.cli.debug.shapes import pdb_session_json
from eagleray.cli.json_schemas import SHAPES, json_schema
from eagleray.cli.json_shapes import VERSION
from eagleray.common.paths import runs
from eagleray.debug.pdb.sessions import WaitingPdb
from eagleray.ray.rows import NodeRow
from eagleray.runs.model import RunPlan, RunState, RunWorkerStatus
from eagleray.runs.records import RunRecords

from tests.asked import eagleray
from tests.fakes.adapter import FakeAdapter
from tests.fakes.dashboard import POLICY, FakeDashboard


def check(name: str, printed: Any) -> None:
    jsonschema.Draft202012Validator(json_schema(name)).validate(printed)
    kind, shape = SHAPES[name]
    for item in [printed] if kind == "one" else printed:
        assert item["version"] == VERSION
        assert list(item) == list(shape)


@pytest.mark.parametrize("name", SHAPES)
def test_schemas_are_valid_and_describe_every_field(name: str) -> None:
    schema = json_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    fields = schema.get("items", schema)["properties"]
    assert list(fields) == list(SHAPES[name][1])
    assert [field for field, described in fields.items() if not described["description"]] == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("clusters", ["clusters"]),
        ("workers", ["workers"]),
        ("paused", ["paused"]),
        ("attach", ["attach", "policy-0"]),
        ("continue, detach", ["continue", "policy-0"]),
        ("logs", ["logs", "policy-0", "--err"]),
        ("runs", ["runs"]),
        ("presets", ["presets"]),
    ],
)
async def test_commands_print_what_their_schema_promises(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter, name: str, arguments: list[str]
) -> None:
    dashboard.logs[f"worker-{POLICY}-01000000-15465.err"] = "a line\n"
    plan = RunPlan(kind="program", argv=("python", "a.py"), cwd="/", name="a.py")
    worker = RunWorkerStatus("w1", 7, "driver", "train.py", "running", ("/a.py",))
    RunRecords(runs()).create(plan, RunState("failed", 1.0, 2.0, 3, workers=(worker,)))
    printed = (await eagleray(*arguments, "-o", "json")).json
    assert printed
    check(name, printed)


def test_pdb_sessions_are_printed_as_their_schema_promises() -> None:
    node = NodeRow("n1", "10.0.0.1", "node-1", alive=True, head=True)
    waiting = WaitingPdb(
        "6f1c", "http://h:1", "/a.py", 3, "w", "node-1", 7, "", 1.5, node, 4000, False
    )
    check("pdb", [pdb_session_json(waiting)])


async def test_slurm_jobs_are_printed_as_their_schema_promises(squeue: Path) -> None:
    check("slurm", (await eagleray("slurm", "--json")).json)


async def test_states_of_ended_runs_are_in_the_glossary(own_home: Path) -> None:
    plan = RunPlan(kind="program", argv=("python", "a.py"), cwd="/", name="a.py")
    records = RunRecords(runs())
    for phase, code in (("ended", 0), ("failed", 3), ("stopped", None)):
        records.create(plan, RunState(phase, time.time() - 61.5, time.time(), code))  # type: ignore[arg-type]
    rows = (await eagleray("runs", "--json")).json
    assert {(row["state"], row["code"]) for row in rows} == {
        ("exited", 0),
        ("failed", 3),
        ("cancelled", None),
    }
    table = (await eagleray("runs")).out.splitlines()
    assert table[0].split() == ["ID", "STATE", "EXIT", "STARTED", "DURATION", "NAME"]
    assert len(table) == 4 and all(line.endswith("1 m 1 s   a.py") for line in table[1:])
    assert (await eagleray("runs", "clear")).err == "Removed 3 ended runs.\n"
    assert (await eagleray("runs")).err == "No runs yet. Start one: `eagleray run -- COMMAND`.\n"


async def test_schema_command_prints_schemas_and_their_names(own_home: Path) -> None:
    names = (await eagleray("schema")).out.splitlines()
    assert {"paused", "continue", "detach", "runs", "report"} <= set(names)
    for name in names:
        schema = json.loads((await eagleray("schema", name)).out)
        assert schema["$schema"].startswith("https://json-schema.org/")
    assert (await eagleray("schema", "nonsense")).code == 2


async def test_unknown_id_removes_no_run(own_home: Path) -> None:
    plan = RunPlan(kind="program", argv=("python", "a.py"), cwd="/", name="a.py")
    record = RunRecords(runs()).create(plan, RunState("ended", 1.0, 2.0, 0))
    removed = await eagleray("runs", "rm", record.id, "nonsense")
    assert removed.code != 0 and "Unknown run “nonsense”" in removed.err
    assert record.id in (await eagleray("runs")).out
