"""The shapes of `--json`: the documented fields, and that the records behind them have them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast, get_type_hints

import pytest
from eagleray.cli.clusters.shapes import CLUSTER, JOB, job_json
from eagleray.cli.debug.shapes import ATTACHMENT, LOG, PAUSED, PDB_SESSION
from eagleray.cli.json_schemas import SHAPES
from eagleray.cli.json_shapes import Shape
from eagleray.cli.observe.inspect import inspection_json
from eagleray.cli.observe.shapes import INSPECTION
from eagleray.cli.profile.shapes import REPORT
from eagleray.cli.runs.shapes import RUN, RUN_WORKER, run_json
from eagleray.clusters.jobs import Jobs
from eagleray.clusters.model import Cluster, JobStatus
from eagleray.debug.attaching.model import Attachment
from eagleray.debug.pdb.sessions import PdbSession
from eagleray.debug.workers.model import LogEnd, PausedWorker
from eagleray.profile.reports import handlers as reports
from eagleray.remote.inspecting.inspected_process import EvaluatedValue, InspectedFrame, Inspection
from eagleray.runs import handlers as runs
from eagleray.runs.model import RunPlan, RunState, RunWorkerStatus
from eagleray.runs.records import RunRecord, StoredRun
from eagleray.slurm.jobs import SlurmJob

GOLDEN = Path(__file__).parent / "golden" / "json_shapes.json"
# Added to what the record has.
COMPUTED = {"version", "held"}


def test_no_field_of_a_shape_is_lost() -> None:
    """Scripts rely on them. To change a shape on purpose, change the golden file and tell it in CHANGELOG."""
    fields = {commands: list(shape) for commands, (_, shape) in SHAPES.items()}
    assert fields == json.loads(GOLDEN.read_text())


@pytest.mark.parametrize(
    ("shape", "record"),
    [
        (CLUSTER, Cluster),
        (PAUSED, PausedWorker),
        (ATTACHMENT, Attachment),
        (LOG, LogEnd),
        (PDB_SESSION, PdbSession),
        (RUN, get_type_hints(runs.wire_run)["return"]),
        (REPORT, get_type_hints(reports.wire_report)["return"]),
    ],
    ids=["cluster", "paused", "attachment", "log", "pdb", "run", "report"],
)
def test_every_field_of_a_shape_is_a_field_of_its_record(shape: Shape, record: type) -> None:
    assert set(shape) - COMPUTED - set(get_type_hints(record)) == set()


def test_job_has_the_documented_fields() -> None:
    listed = SlurmJob(
        id="12",
        name="train",
        word="COMPLETING",
        state="ending",
        reason="",
        partition="gpu",
        nodelist="n1",
        node_count=1,
        time_left_s=None,
        ran_s=60.0,
        started=0.0,
        exclusive=True,
    )
    jobs = cast(Jobs, SimpleNamespace(time_left_s=lambda status: None))
    shown = job_json(JobStatus("login", listed, 0.0), jobs)
    assert list(shown) == list(JOB)
    assert (shown["address"], shown["job"], shown["state"], shown["nodes"]) == (
        "ssh://login/slurm://12",
        "12",
        "other",
        1,
    )


def test_workers_of_a_run_have_the_documented_fields(tmp_path: Path) -> None:
    worker = RunWorkerStatus("w1", 7, "driver", "train.py", "running", ("/a.py",))
    plan = RunPlan(kind="process", argv=("python", "a.py"), cwd="/", name="a.py")
    state = RunState("running", 1.0, cluster="http://head:8265", workers=[worker])
    (shown,) = run_json(StoredRun(RunRecord("r1", tmp_path), plan, state))["workers"]
    assert list(shown) == list(RUN_WORKER)
    assert (shown["cluster"], shown["worker_id"]) == ("http://head:8265", "w1")


def test_inspection_has_the_documented_fields() -> None:
    frames = (InspectedFrame(0, "step", "/a.py", 3),)
    values = (EvaluatedValue("x", "1", ""),)
    inspection = Inspection(7, "inside", "", "MainThread", "", frames, values)
    shown = inspection_json(inspection)
    assert list(shown) == list(INSPECTION)
    assert (shown["version"], shown["stack"]) == (
        1,
        [{"function": "step", "path": "/a.py", "line": 3}],
    )
    assert shown["values"] == [{"expression": "x", "value": "1", "error": ""}]
