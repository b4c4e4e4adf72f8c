"""Takes a picture of a cluster of Ray: a job samples all nodes, and the dashboard serves what it has found as a file."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from attrs import asdict, evolve, frozen

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.features.hangs.collecting.ray_jobs import (
    ClusterRows,
    of_workers,
    restricted,
    with_jobs,
)
from eagleray.features.hangs.collecting.rounds import PAUSE_S, ROUNDS, OnProgress, unheard
from eagleray.features.hangs.diagnosis import diagnosis
from eagleray.features.hangs.errors import no_workers, unreadable_answer
from eagleray.features.hangs.evidence import evidence
from eagleray.features.hangs.model import Picture, SilentNode
from eagleray.features.hangs.picture import picture
from eagleray.features.hangs.ray_names import NodeNames, hosts_of, names_of_nodes
from eagleray.features.hangs.ray_tasks import rows, steady
from eagleray.ray import logs
from eagleray.ray.cluster_query import ENTRYPOINT, ClusterQuery
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import job_failed, job_unfinished
from eagleray.ray.rows import NodeRow, TaskRow
from eagleray.sampling import wire
from eagleray.sampling.node import NodeSamples
from eagleray.tools.code_copies import sampling_package, zip_package
from eagleray.tools.pyspy import find_program

LARGEST_ANSWER = 256 * 2**20
# Nodes have limits of their own in `in_cluster`; this is for a cluster that starts no job.
LIMIT_S = 120.0

log = logging.getLogger(__name__)


@frozen
class Answer:
    """What a cluster answered: the samples of its nodes, and those that were silent."""

    nodes: tuple[NodeSamples, ...]
    silent: tuple[SilentNode, ...]


class ClusterPictures:
    """Takes pictures of clusters on one event loop; `close` returns when none of our jobs is left in any list."""

    def __init__(self) -> None:
        self._jobs = ClusterQuery()

    async def close(self) -> None:
        await self._jobs.close()

    async def take(
        self,
        dashboard: Dashboard,
        on_progress: OnProgress = unheard,
        rounds: int = ROUNDS,
        pause_s: float = PAUSE_S,
        jobs: Collection[str] = (),
        workers: str = "",
    ) -> Picture:
        """The picture of the workers and drivers of these jobs of Ray, of all without any; a cancellation stops our job.

        With `workers` only of those that this names (see `of_workers`), and of what they have started.
        """
        nodes, listed = await asyncio.gather(dashboard.nodes(), _rows(dashboard))
        part = restricted(listed, jobs)
        names = part_of(nodes, part, jobs, workers)
        if workers and not any(each.named or each.workers for each in names.values()):
            raise no_workers(dashboard.address, workers)
        answer = await self._sample(dashboard, names, on_progress, rounds, pause_s)
        later = restricted(evolve(listed, tasks=tuple(await _tasks(dashboard))), jobs)
        tasks = steady(part.tasks, later.tasks)
        graph = rows(tasks, part.actors, part.workers, hosts_of(nodes), _room(nodes))
        sampled = evidence(
            answer.nodes, pause_s, is_whole=not answer.silent, tasks=graph, workers=workers
        )
        return picture(sampled, diagnosis(sampled), time.time(), answer.silent)

    async def _sample(
        self,
        dashboard: Dashboard,
        names: Mapping[str, NodeNames],
        on_progress: OnProgress,
        rounds: int,
        pause_s: float,
    ) -> Answer:
        api, own_id = dashboard.job_api, secrets.token_hex(8)
        package, name, archive = await asyncio.to_thread(lambda: _archive(find_program()))
        # Kept for ten minutes from this request on.
        if not await api.has_package(name):
            await api.put_package(name, archive)
        request = f"_ray_pkg_eagleray_request_{own_id}.zip"
        await api.put_package(request, _request(names, rounds, pause_s))
        order = {
            "key": f"gcs://{request}",
            "answer": f"eagleray-stacks-{own_id}.json",
            "mark": secrets.token_hex(16),
        }
        job = await api.submit(
            ENTRYPOINT,
            runtime_env={
                "py_modules": [f"gcs://{name}"],
                "env_vars": {
                    "EAGLERAY_TEXT": f"from {package}.in_cluster import main; main()",
                    "EAGLERAY_ASKED": json.dumps(order),
                },
            },
            metadata={"name": "Eagleray: stacks"},
            submission_id=f"eagleray_{own_id}",
        )
        try:
            limit_s = LIMIT_S + rounds * pause_s
            try:
                announced = await asyncio.wait_for(
                    _announced(dashboard, job, order["mark"], on_progress, rounds), limit_s
                )
            except asyncio.TimeoutError:
                raise job_unfinished(dashboard.address, t("stacks"), limit_s) from None
            state = await api.state(job)
            content = await _file(dashboard, state.driver_node_id, order["answer"], announced)
            return await asyncio.to_thread(answer_of, dashboard.address, content)
        finally:
            # The job deletes its file and ends when it is stopped.
            self._jobs.remove(dashboard, job, ended=False)


def part_of(
    nodes: Sequence[NodeRow], listed: ClusterRows, jobs: Collection[str], workers: str
) -> dict[str, NodeNames]:
    """What each node samples of these jobs and workers."""
    part = of_workers(listed, workers)
    names = names_of_nodes(nodes, part.actors, part.workers)
    return with_jobs(names, part.tasks, jobs, is_part=bool(workers))


def answer_of(address: str, content: bytes) -> Answer:
    """The answer in the file of the job; raises `unreadable-answer` for something else."""
    try:
        value = json.loads(content)
        if not isinstance(value, dict):
            raise ValueError("not an object")
        nodes = wire.load(value.get("samples"))
        silent = value.get("silent")
        if not isinstance(silent, list):
            raise ValueError("no list of silent nodes")
        return Answer(tuple(nodes), tuple(_silent(row) for row in silent))
    except (ValueError, RecursionError) as error:
        raise unreadable_answer(address, str(error)) from error


@cache
def _archive(py_spy: str) -> tuple[str, str, bytes]:
    """The name of the package, and its zip with the name of that; compressing py-spy takes 0.3 s."""
    package = sampling_package(py_spy)
    return (package.name, *zip_package(package))


def _request(names: Mapping[str, NodeNames], rounds: int, pause_s: float) -> bytes:
    nodes = {node_id: asdict(each, recurse=False) for node_id, each in names.items()}
    return json.dumps({"rounds": rounds, "pause_s": pause_s, "nodes": nodes}).encode()


async def _rows(dashboard: Dashboard) -> ClusterRows:
    actors, workers, tasks = await asyncio.gather(
        dashboard.actors(), dashboard.all_workers(), _tasks(dashboard)
    )
    return ClusterRows(tuple(actors), tuple(workers), tuple(tasks))


async def _tasks(dashboard: Dashboard) -> list[TaskRow]:
    """The tasks that have not ended; none where Ray fails to list them, since most verdicts need only stacks."""
    try:
        return await dashboard.unended_tasks()
    except EaglerayError as error:
        log.info("the tasks of %s are not listed: %s %s", dashboard.address, error, error.detail)
        return []


def _room(nodes: Sequence[NodeRow]) -> dict[str, float]:
    """The most that one living node has of each resource."""
    room: dict[str, float] = {}
    for node in nodes:
        for name, amount in node.resources.items() if node.alive else ():
            room[name] = max(room.get(name, 0.0), amount)
    return room


async def _announced(
    dashboard: Dashboard, job: str, mark: str, on_progress: OnProgress, rounds: int
) -> dict[str, Any]:
    """What the job has printed of its answer, once that is there; raises `job-failed` if it ends before."""
    text = ""
    async with contextlib.aclosing(logs.follow(dashboard, job)) as pieces:
        async for piece in pieces:
            *lines, text = (text + piece).split("\n")
            for line in lines:
                announced = _of_line(line, mark)
                if "size" in announced:
                    return announced
                done = announced.get("round")
                if isinstance(done, int):
                    on_progress(min(done, rounds), rounds)
    state = await dashboard.job_api.state(job)
    output = await dashboard.job_api.logs(job)
    raise job_failed(dashboard.address, t("stacks"), f"{state.status}: {state.message}\n{output}")


def _of_line(line: str, mark: str) -> dict[str, Any]:
    if not line.startswith(mark):
        return {}
    try:
        value = json.loads(line[len(mark) :])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


async def _file(
    dashboard: Dashboard, node_id: str, name: str, announced: Mapping[str, Any]
) -> bytes:
    """The content of the job's file.  Nothing else indicates a truncated transfer than its size and its hash."""
    pieces, size = [], 0
    async for piece in dashboard.log_bytes(node_id, name):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST_ANSWER:
            raise unreadable_answer(dashboard.address)
    content = b"".join(pieces)
    if hashlib.sha256(content).hexdigest() != announced.get("sha256"):
        raise unreadable_answer(dashboard.address)
    return content


def _silent(row: Any) -> SilentNode:
    texts = [
        row.get(key) if isinstance(row, dict) else None for key in ("host", "reason", "detail")
    ]
    host, reason, detail = (printable(text, 300) if isinstance(text, str) else "" for text in texts)
    if reason not in ("timeout", "failed"):
        raise ValueError("a silent node without a reason")
    return SilentNode(host, reason, detail)
