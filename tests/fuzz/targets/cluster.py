"""Parsers of what clusters and SLURM say: dashboards, rows, pdb sessions, squeue, node lists, scripts run on nodes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eagleray.clusters.job_head import start_time
from eagleray.common.errors import EaglerayError
from eagleray.debug.pdb import sessions as pdb
from eagleray.debug.pdb.sessions import read as pdb_target
from eagleray.debug.workers.worker_facts import describe_worker, rank_of_name, script_of
from eagleray.ray import logs
from eagleray.ray import rows as ray_rows
from eagleray.ray.http import Reply
from eagleray.ray.tokens import is_over
from eagleray.runs.remote_files import _parse_bytes, _parse_file
from eagleray.slurm import client, hostlist
from eagleray.slurm import jobs as slurm_jobs

from tests.debug.workers.rows import actor_row, worker_row
from tests.fuzz.target import Target, of_json

TESTS = Path(__file__).parents[2]
RECORDED = json.loads((TESTS / "fakes" / "recorded" / "ray-2.60.0.json").read_text())
SQUEUE = sorted((TESTS / "clusters" / "golden").glob("squeue-*"))
MARK = "0123456789abcdef"
PDB = {
    "id": "a" * 32,
    "pdb_address": "127.0.0.1:4000",
    "worker_id": "w1",
    "actor_id": "a1",
    "proctitle": "ray::PolicyWorker.train()",
    "filename": "/x/ray/util/rpdb.py",
    "lineno": 7,
    "timestamp": 1.5,
    "traceback": 'Traceback\n  File "/a/b.py", line 3, in f\nValueError: bad\n',
}
OLD_PDB = {**PDB, "worker_id": "", "job_id": "01000000", "pdb_address": "[::1]:4000"}
READERS = (ray_rows.worker, ray_rows.task, ray_rows.actor, ray_rows.node, ray_rows.job)


def rows_of(name: str) -> list[dict[str, Any]]:
    body = json.loads(RECORDED[name]["body"])
    found: list[dict[str, Any]] = body if name == "jobs" else body["data"]["result"]["result"]
    return found[:3]


def ray_row(row: Any) -> None:
    """Every row is a value or nothing; counts are counts, and what names a worker is one line."""
    if not isinstance(row, dict):
        return
    found: list[Any] = [read(row) for read in READERS]
    worker, task, actor, node, job = found
    for one in (value for value in found if value is not None):
        json.dumps(str(one))
    assert worker is None or (0 <= worker.debug_port < 2**16 and worker.pid >= 0)
    facts = describe_worker(worker, actor, [task] if task else [], job)
    assert all(text.isprintable() for text in (facts.name, *facts.titles))
    assert node is None or node.node_id


def dashboard_answer(body: bytes) -> None:
    """JSON of any form, as a dashboard answers."""
    with contextlib.suppress(ValueError, RecursionError):
        value = Reply(200, body).json()
        if isinstance(value, dict):
            for key in value:
                ray_rows.text(value, key)
                ray_rows.number(value, key)
                ray_rows.mapping(value, key)


def names(text: str) -> None:
    script_of(text)
    rank = rank_of_name(text)
    assert rank is None or 0 <= rank < 10**6
    logs.is_marked(text)
    is_over(text, 0.0)


def pdb_rows(said: Any) -> None:
    node = ray_rows.node(NODE)
    assert node is not None
    rows = pdb.DashboardRows([worker_row(node_id="n1")], [actor_row("a1")], [node], (), ())
    pdb.lacks_worker_ids(said)
    for session in pdb.sessions("c", said, rows):
        assert 0 < session.port < 2**16 and session.line >= 0
        assert all(text.isprintable() for text in (session.file, session.name, session.error))


NODE = {"node_id": "n1", "node_ip": "10.0.0.1", "node_name": "n1", "state": "ALIVE"}


def squeue_text(text: str) -> None:
    slurm_jobs.jobs_alone(text)
    try:
        jobs = slurm_jobs.parse_jobs(text, MARK)
    except ValueError:
        return
    every(jobs)


def every(jobs: Sequence[slurm_jobs.SlurmJob]) -> None:
    """A job can be shown: on one line, with times that a clock has."""
    for job in jobs:
        assert all(text.isprintable() for text in (job.name, job.word, job.reason, job.partition))
        assert job.id.isdecimal()
        start_time(job.started)
        assert all(0 <= seconds < 1e16 for seconds in (job.ran_s, job.time_left_s or 0.0))


def nodes(text: str) -> None:
    """Names of nodes only, each once; a list of them is read as itself."""
    found = hostlist.expand(text)
    assert len(found) <= hostlist.MOST and len(set(found)) == len(found)
    assert not any(name.startswith("-") or set(name) & set(" \n'\"$;|&`") for name in found)
    if found:
        assert hostlist.expand(",".join(found)) == found


def node_answers(said: Any) -> None:
    for row in said if isinstance(said, list) else [said]:
        client._node_answer(row)
        client._dashboards(row, ["n1", "n2"])
        _parse_file(row)
        _parse_bytes(row)


TARGETS = [
    Target(
        "ray-rows",
        "value",
        ray_row,
        [row for name in ("workers", "tasks", "actors", "nodes", "jobs") for row in rows_of(name)],
    ),
    Target(
        "dashboard-answers",
        "bytes",
        dashboard_answer,
        [RECORDED[name]["body"].encode() for name in ("version", "nodes", "jobs")],
    ),
    Target(
        "worker-names",
        "text",
        names,
        ["python -m pkg.train --a 'b c'", "PolicyWorker_0:3", "eyJh.eyJleHAiOjF9.x", "2.9.1"],
    ),
    Target("pdb-sessions", "value", pdb_rows, [[PDB, OLD_PDB]]),
    of_json(
        "pdb-target",
        pdb_target,
        [
            {
                "id": "a",
                "cluster": "c",
                "name": "n",
                "place": "p",
                "node": "n",
                "host": "h",
                "port": 1,
                "routes": [{"ssh": "a"}],
                "is_local": True,
            }
        ],
        (EaglerayError,),
    ),
    Target(
        "squeue-text",
        "text",
        squeue_text,
        [path.read_text() for path in SQUEUE],
        (),
        (MARK, "1-00:00:00", "UNLIMITED", "(null)", "2026-01-01T00:00:00", "PENDING"),
    ),
    Target(
        "hostlist",
        "text",
        nodes,
        ["node-12,node-[22,030-032],rack[1-2]n[1-4]", "n[1-9],n[08-11]x", ""],
        (ValueError,),
        ("[", "]", ",", "-", "[0-9]", "[1-20000]"),
    ),
    Target(
        "node-answers",
        "value",
        node_answers,
        [
            [
                {
                    "node": "n1",
                    "said": "ray",
                    "addresses": ["10.0.0.1"],
                    "session": "s",
                    "ray": "2.60",
                    "ips": ["10.0.0.1"],
                }
            ],
            {
                "node": "n1",
                "found": [{"port": 8265, "address": "::", "session": "s", "started": 3}],
            },
            [["a.nsys-rep", 3, 4]],
        ],
    ),
]
