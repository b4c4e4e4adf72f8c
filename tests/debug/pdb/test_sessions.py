"""Ray's records of its pdb, as sessions: hostile values too, since any job of the cluster can write them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.debug.pdb.sessions import (
    DashboardRows,
    PdbTarget,
    chosen,
    lacks_worker_ids,
    read,
    sessions,
)
from eagleray.protocol.route_spec import RouteSpec
from eagleray.ray.rows import ActorRow, JobRow, NodeRow, RuntimeEnv, TaskRow, WorkerRow

HEAD = NodeRow("n1", "10.0.0.1", "node-1", alive=True, head=True)
OTHER = NodeRow("n2", "10.0.0.2", "node-2", alive=True, head=False)
WORKER = WorkerRow("w1", "worker", "n2", "10.0.0.2", 4711, 0, 0, 0)
ACTOR = ActorRow("a1", "Policy", "policy-3", "", "ALIVE", "01", "n2", 4711, 0, "", RuntimeEnv())
ROWS = DashboardRows([WORKER], [ACTOR], [HEAD, OTHER])
# As Ray 2.60 writes it.
VALUE: dict[str, Any] = {
    "id": "0af5c6e8d9c74d6d8c8e6f3ac1d2e3f4",
    "proctitle": "ray::train_step",
    "pdb_address": "localhost:46821",
    "filename": "/home/u/train.py",
    "lineno": 12,
    "traceback": "NoneType: None\n",
    "timestamp": 1795285856.25,
    "job_id": "01",
    "node_id": "n2",
    "worker_id": "w1",
    "actor_id": None,
}
FAILED = """Traceback (most recent call last):
  File "/venv/site-packages/ray/_private/worker.py", line 9, in execute
  File "/home/u/train.py", line 40, in outer
  File "/home/u/loss.py", line 7, in loss
  File "/venv/site-packages/ray/util/tracing/helper.py", line 3, in span
ZeroDivisionError: division by zero
"""


def of(**more: Any) -> Any:
    return sessions("c", [VALUE | more], ROWS)


def test_session_has_stop_location_and_name() -> None:
    (one,) = of()
    assert (one.name, one.place, one.pid, one.host) == (
        "train_step",
        "/home/u/train.py:12",
        4711,
        OTHER,
    )
    assert (one.port, one.is_open, one.error) == (46821, False, "")
    (of_actor,) = of(actor_id="a1", proctitle="ray::Policy.update")
    assert of_actor.name == "policy-3.update"


def test_error_shows_the_last_frame_of_user_code() -> None:
    (one,) = of(filename="/venv/site-packages/ray/_private/worker.py", traceback=FAILED)
    assert (one.place, one.error) == (
        "/home/u/loss.py:7",
        "ZeroDivisionError: division by zero",
    )
    (hop,) = of(filename="/venv/site-packages/ray/_private/worker.py")
    assert hop.place == "its first line"


def test_open_pdb_is_accepted_on_its_own_node_only() -> None:
    (one,) = of(pdb_address="10.0.0.2:46821")
    assert one.is_open
    for elsewhere in ("10.0.0.1:46821", "evil.example:22", "169.254.169.254:80"):
        assert of(pdb_address=elsewhere) == []


@pytest.mark.parametrize(
    "more",
    [
        {"pdb_address": "localhost:0"},
        {"pdb_address": "localhost:70000"},
        {"pdb_address": "-oProxyCommand=x:22"},
        {"pdb_address": ""},
        {"pdb_address": 3},
        {"pdb_address": "localhost:46821\nlocalhost:1"},
        {"id": "../../etc"},
        {"id": "x" * 500},
        {"id": None},
        {"worker_id": "gone"},
    ],
)
def test_malformed_records_are_left_out(more: dict[str, Any]) -> None:
    assert of(**more) == []


@pytest.mark.parametrize("said", [None, 3, "x", {}, [None, 3, "x", []], [{}]])
def test_missing_list_gives_no_sessions(said: Any) -> None:
    assert sessions("c", said, ROWS) == []


def test_texts_are_short_and_steer_no_terminal() -> None:
    hostile = "\x1b]0;owned\x07\u202eabc\r\n" + "y" * 10_000
    (one,) = of(filename=hostile, proctitle=hostile, lineno=True, timestamp=float("nan"))
    for text in (one.file, one.name):
        assert text.isprintable()
        assert len(text) <= 4096
    assert (one.line, one.since) == (0, 0.0)
    (odd,) = of(lineno=-4, timestamp=1e300, actor_id=["a1"])
    assert (odd.line, odd.since) == (0, 0.0)


def test_sessions_are_sorted_by_waiting_time() -> None:
    said = [
        VALUE | {"id": f"{n:08x}", "timestamp": waited} for n, waited in enumerate((30, 10, 20))
    ]
    assert [session.since for session in sessions("c", said, ROWS)] == [10, 20, 30]


OLD = {key: VALUE[key] for key in VALUE if key not in ("node_id", "worker_id", "actor_id")}
JOB = JobRow("01", "", "driver", "RUNNING", "", "", "", 0, RuntimeEnv())


def _task(name: str, node: str) -> TaskRow:
    texts = ("t", 0, name, name, "NORMAL_TASK", "RUNNING", "01", "", "w", node)
    return TaskRow(*texts, 99, "", 0, RuntimeEnv())


def test_old_ray_sessions_are_matched_by_task() -> None:
    assert lacks_worker_ids([OLD])
    assert not lacks_worker_ids([VALUE])
    rows = evolve(ROWS, jobs=[JOB], tasks=[_task("train_step", "n2"), _task("other", "n1")])
    (one,) = sessions("c", [OLD], rows)
    assert (one.host, one.pid) == (OTHER, 99)


def test_old_ray_on_several_nodes_gets_no_process() -> None:
    tasks = [_task("train_step", "n1"), _task("train_step", "n2")]
    (one,) = sessions("c", [OLD], evolve(ROWS, jobs=[JOB], tasks=tasks))
    assert (one.host.ip, one.node, one.pid) == ("", "one of 2 nodes", 0)


def test_ended_job_of_an_old_ray_has_no_sessions() -> None:
    ended = evolve(JOB, status="SUCCEEDED")
    assert sessions("c", [OLD], evolve(ROWS, jobs=[ended], tasks=[_task("train_step", "n2")])) == []


def test_session_is_chosen_by_id_name_or_prefix() -> None:
    first, second = (of(id=identity)[0] for identity in ("aaaa1111", "aaaa2222"))
    assert chosen([first, second], "aaaa2222") is second
    assert chosen([first, evolve(second, name="other")], "other").id == second.id
    assert chosen([first, second], "aaaa1") is first
    for text, code in (("aaaa", "ambiguous-pdb"), ("", "unknown-pdb"), ("x", "unknown-pdb")):
        with pytest.raises(EaglerayError) as raised:
            chosen([first, second], text)
        assert raised.value.code == code


def test_target_survives_a_round_trip_as_an_argument() -> None:
    routes = (RouteSpec(ssh="login", job="12", node="node-2"),)
    target = PdbTarget("id", "c", 'a "name" é', "f:1", "node-2", routes, "127.0.0.1", 46821, True)
    assert read(target.text()) == target


def test_foreign_target_runs_nothing() -> None:
    whole = json.loads(PdbTarget("i", "c", "n", "p", "no", (RouteSpec(),), "h", 1, True).text())
    for wrong in ("", "[]", "{}", json.dumps(whole | {"port": "x"})):
        with pytest.raises(EaglerayError) as raised:
            read(wrong)
        assert raised.value.code == "unknown-pdb"
    with pytest.raises(EaglerayError) as raised:
        read(json.dumps(whole | {"routes": [{"ssh": "-oProxyCommand=touch /tmp/x"}]}))
    assert raised.value.code == "bad-route"
