"""The driver of the job: every node has its own deadline, and what one of them does costs the others nothing."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from eagleray.remote.sampling import node_job, ray_job_main, sample_codec
from eagleray.remote.sampling.node_job import AnsweringJob, Ended
from eagleray.remote.sampling.node_sampler import ProcessSample, Round
from eagleray.remote.sampling.processes import RANK, Described
from eagleray.remote.sampling.ray_job_main import Sampling

SAMPLE = ProcessSample("S", "", 1.0, "timeout", "", False)


@dataclass(eq=False)
class Call:
    """A call of an actor: `answer` is None while there is none, and raises if the actor is gone."""

    answer: Callable[[], Any] | None


class Ray:
    """Ray with nodes that answer, fail (`broken`) or are silent after some calls (`silent`)."""

    def __init__(
        self, nodes: int, broken: tuple[int, ...] = (), silent: dict[int, int] | None = None
    ):
        self.count, self.broken, self.silent = nodes, broken, silent or {}
        self.created: list[Any] = []
        self.waited_s = 0.0

    def nodes(self) -> list[dict[str, Any]]:
        rows = [_row(at, alive=True) for at in range(self.count)]
        return [*rows, _row(99, alive=False)]

    def remote(self, _sampler: type) -> SimpleNamespace:
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=self._actor))

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(get_node_id=lambda: "node0")

    def wait(self, calls: list[Call], num_returns: int, timeout: float) -> tuple[list[Call], Any]:
        ready = [call for call in calls if call.answer is not None]
        if not ready and timeout:
            time.sleep(min(timeout, 0.01))
        return ready, None

    def get(self, call: Call) -> Any:
        assert call.answer is not None
        return call.answer()

    def _actor(self, host: str, *arguments: Any) -> SimpleNamespace:
        at = len(self.created)
        self.created.append((host, *arguments))
        calls = iter(range(10))
        process = Described(100 + at, 1, RANK, "world", at, "train.py")

        def call(answer: Any) -> Call:
            if at in self.broken:
                return Call(lambda: _fail())
            return Call(None if next(calls) >= self.silent.get(at, 10) else lambda: answer)

        return SimpleNamespace(
            processes=SimpleNamespace(remote=lambda: call((process,))),
            round=SimpleNamespace(remote=lambda is_last: call(Round((SAMPLE,), (), ()))),
            answers=SimpleNamespace(
                remote=lambda wanted: call([[pid, host] for part in wanted for pid in part])
            ),
        )


def _row(at: int, alive: bool) -> dict[str, Any]:
    return {"NodeID": f"node{at}", "Alive": alive, "NodeManagerAddress": f"10.0.0.{at}"}


def _fail() -> None:
    raise RuntimeError("the node is gone")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    strategies = ModuleType("ray.util.scheduling_strategies")
    strategies.NodeAffinitySchedulingStrategy = lambda node_id, soft: (node_id, soft)  # type: ignore[attr-defined]
    for name in ("ray", "ray.util"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, strategies.__name__, strategies)
    monkeypatch.setattr(ray_job_main, "COLD_S", 0.3)
    monkeypatch.setattr(ray_job_main, "WARM_S", 0.3)
    monkeypatch.setattr(ray_job_main, "READ_S", 0.3)


def job_of(ray: Ray, *, has_ended: bool = False) -> AnsweringJob:
    job = AnsweringJob(ray, {"mark": "mark"})
    job.has_ended = has_ended
    return job


def sampling(ray: Ray | AnsweringJob, **nodes: Any) -> Sampling:
    request = {"rounds": 3, "pause_s": 0.0, "nodes": nodes}
    return Sampling(ray if isinstance(ray, AnsweringJob) else job_of(ray), request)


def test_all_nodes_answer_and_each_round_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    job = sampling(Ray(3), node1={"host": "named", "named": {"101": [RANK, "g", 1, "t"]}})
    job.run()
    answer = job.answer()
    nodes = sample_codec.load(answer["samples"])
    assert [node.host for node in nodes] == ["10.0.0.0", "named", "10.0.0.2"]
    assert [len(node.rounds) for node in nodes] == [3, 3, 3]
    assert answer["nodes"] == ["node0", "node1", "node2"] and answer["silent"] == []
    assert capsys.readouterr().out == "".join(f'mark{{"round": {n}}}\n' for n in (1, 2, 3))


def test_silent_and_broken_nodes_are_named_and_the_others_are_there() -> None:
    job = sampling(Ray(4, broken=(1,), silent={2: 0}))
    job.run()
    answer = job.answer()
    assert answer["nodes"] == ["node0", "node3"]
    assert [(node["host"], node["reason"], node["detail"]) for node in answer["silent"]] == [
        ("10.0.0.1", "failed", "the node is gone"),
        ("10.0.0.2", "timeout", ""),
    ]


def test_node_that_falls_silent_keeps_the_rounds_that_it_gave() -> None:
    job = sampling(Ray(2, silent={1: 2}))
    job.run()
    answer = job.answer()
    assert answer["silent"] == []
    assert [len(node.rounds) for node in sample_codec.load(answer["samples"])] == [3, 1]


def test_node_without_a_chosen_worker_starts_no_sampler() -> None:
    job = sampling(
        Ray(2),
        node0={"is_part": True, "named": {}},
        node1={"is_part": True, "named": {"101": [RANK, "g", 1, "t"]}},
    )
    job.run()
    assert job.answer()["nodes"] == ["node1"]


def test_driver_excludes_its_own_processes_on_its_own_node_only() -> None:
    ray = Ray(2)
    sampling(ray).run()
    excluded = [arguments[3] for arguments in ray.created]
    assert excluded[0] != [] and excluded[1] == []


def test_cancelled_job_ends_without_an_answer() -> None:
    with pytest.raises(Ended):
        sampling(job_of(Ray(1), has_ended=True)).run()


def test_processes_are_asked_on_their_nodes_and_silent_nodes_are_left_out() -> None:
    job = sampling(Ray(4, broken=(1,), silent={2: 4}))
    job.run()
    answers = job.answers({f"node{at}": [[100 + at], [7]] for at in range(3)})
    assert answers == {"node0": [[100, "10.0.0.0"], [7, "10.0.0.0"]]}


def test_cancelled_job_ends_while_processes_are_asked() -> None:
    own = job_of(Ray(1, silent={0: 4}))
    job = sampling(own)
    job.run()
    own.has_ended = True
    with pytest.raises(Ended):
        job.answers({"node0": [[100], []]})


def test_answer_is_written_as_a_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    node_job.write(tmp_path / "answer.json", b"{}")
    [written] = tmp_path.iterdir()
    assert (written.name, written.read_bytes(), written.stat().st_mode & 0o777) == (
        "answer.json",
        b"{}",
        0o600,
    )


def test_answers_are_announced_with_their_hash_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(node_job, "logs_folder", lambda: tmp_path)
    job = job_of(Ray(1))
    job.give("answer.json", {"a": 1}, {"file": "answer.json"})
    announced = json.loads(capsys.readouterr().out.removeprefix("mark"))
    digest = hashlib.sha256((tmp_path / "answer.json").read_bytes()).hexdigest()
    assert announced == {"file": "answer.json", "size": 7, "sha256": digest}
    job.remove_files()
    assert list(tmp_path.iterdir()) == []
