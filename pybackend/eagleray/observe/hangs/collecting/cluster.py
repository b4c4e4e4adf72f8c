"""Takes a picture of a cluster of Ray.

Nodes that are this machine are sampled directly.  For others, a job samples all nodes, and the dashboard serves what it has
found as a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import asdict, evolve, frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import later, t
from eagleray.observe.hangs.collecting import local_sampling
from eagleray.observe.hangs.collecting.completed_picture import (
    AskFurther,
    FurtherAnswers,
    answered,
    answers_in,
    completed,
    joined,
)
from eagleray.observe.hangs.collecting.local import ask
from eagleray.observe.hangs.collecting.ray_jobs import (
    ClusterRows,
    dead_in,
    graph_of,
    live_jobs_of,
    of_workers,
    restricted,
    with_jobs,
)
from eagleray.observe.hangs.collecting.sampling_plan import DEFAULT_PLAN, OnProgress, SamplingPlan
from eagleray.observe.hangs.errors import no_workers, unreadable_answer
from eagleray.observe.hangs.evidence import DeadActor, evidence
from eagleray.observe.hangs.inside_questions import Question
from eagleray.observe.hangs.model import Picture, SilentNode
from eagleray.observe.hangs.ray_names import NodeNames, hosts_of, names_of_nodes
from eagleray.ray.cluster_query import ClusterQuery
from eagleray.ray.dashboard import Dashboard, FindLocalNodes
from eagleray.ray.errors import job_unfinished
from eagleray.ray.gcs_state import gcs_state
from eagleray.ray.local_nodes import own_raylets
from eagleray.ray.node_job import NodeJob, start_job
from eagleray.ray.rows import NodeRow, PlacementGroupRow, TaskRow
from eagleray.remote.sampling import sample_codec
from eagleray.remote.sampling.node_sampler import NodeSamples

LARGEST_ANSWER = 256 * 2**20
# Nodes have limits of their own in `ray_job_main`; this is for a cluster that starts no job.
LIMIT_S = 120.0
# Nodes give up after 25 seconds.
READ_LIMIT_S = 35.0
_STACKS = later("stacks")

log = logging.getLogger(__name__)


@frozen
class Answer:
    """The answer of a cluster: the samples of its nodes, whose ids are in the same order, and those that were silent."""

    nodes: tuple[NodeSamples, ...]
    node_ids: tuple[str, ...]
    silent: tuple[SilentNode, ...]


class ClusterPictures:
    """Takes pictures of clusters on one event loop; `close` returns when none of our jobs is left in any list."""

    def __init__(self, local_nodes: FindLocalNodes = Dashboard.local_nodes) -> None:
        self._local_nodes = local_nodes
        self._jobs = ClusterQuery()

    async def close(self) -> None:
        await self._jobs.close()

    async def take(
        self,
        dashboard: Dashboard,
        plan: SamplingPlan = DEFAULT_PLAN,
        jobs: Collection[str] = (),
        workers: str = "",
    ) -> Picture:
        """The picture of the workers and drivers of these jobs of Ray, of all without any; a cancellation stops our job.

        With `workers` only of those that this names (see `of_workers`), and of what they have started.
        """
        nodes, listed = await asyncio.gather(dashboard.nodes(), rows_of(dashboard))
        part = restricted(listed, jobs)
        names = part_of(nodes, part, jobs, workers)
        if workers and not any(each.named or each.workers for each in names.values()):
            raise no_workers(dashboard.address, workers)
        async with self._sampled(dashboard, nodes, names, plan) as (answer, ask_further):
            later = restricted(evolve(listed, tasks=tuple(await _tasks(dashboard))), jobs)
            groups = await _groups(dashboard)
            graph = graph_of(part, later, nodes, hosts_of(nodes), groups)
            sampled = evidence(
                answer.nodes,
                plan.pause_s,
                is_whole=not answer.silent,
                tasks=graph,
                workers=workers,
                dead=await _dead(dashboard, jobs),
            )
            sampled = await answered(sampled, ask_further, plan)
            return completed(sampled, answer.silent)

    @contextlib.asynccontextmanager
    async def _sampled(
        self,
        dashboard: Dashboard,
        nodes: Sequence[NodeRow],
        names: Mapping[str, NodeNames],
        plan: SamplingPlan,
    ) -> AsyncGenerator[tuple[Answer, AskFurther]]:
        """The samples of the nodes, whose processes can be asked for more until the end.

        1. Nodes that are all this machine: directly, also where their agents start no job.
        2. Else by a job.
        """
        wanted = {node: each for node, each in names.items() if each.pids or not each.is_part}
        local = await self._local_nodes(dashboard, nodes)
        if wanted and wanted.keys() <= local.keys():
            samples = await local_sampling.sampled(local, wanted, plan)
            yield Answer(tuple(samples.values()), tuple(samples), ()), ask
            return
        plan.say(t("Starting a job on {cluster}", cluster=printable(dashboard.address)))
        async with self._job(dashboard, _request(names, plan), plan.inside) as job:
            limit_s = LIMIT_S + plan.rounds * plan.pause_s
            answer = await job.answer(plan.on_progress, plan.rounds, limit_s)
            yield answer, lambda question: job.ask(question, answer)

    @contextlib.asynccontextmanager
    async def _job(
        self, dashboard: Dashboard, request: bytes, inside: bool
    ) -> AsyncGenerator[SamplingJob]:
        """Starts the job, which deletes its files and ends when it is stopped."""
        own_id = secrets.token_hex(8)
        order = {
            "key": f"_ray_pkg_eagleray_request_{own_id}.zip",
            "answer": f"eagleray-stacks-{own_id}.json",
            "question": f"_ray_pkg_eagleray_question_{own_id}.zip",
            "readings": f"eagleray-stacks-{own_id}-inside.json",
        }
        packages = {order["key"]: request}
        program = partial(_program, inside=inside)
        job = await start_job(self._jobs, dashboard, _STACKS, program, order, packages)
        unread: tuple[str, ...] = ()
        try:
            yield SamplingJob(job)
        except BaseException:
            unread = order["key"], order["question"]
            raise
        finally:
            self._jobs.remove(dashboard, job.id, ended=False, unread=unread)


class SamplingJob:
    """The running job of a picture."""

    def __init__(self, job: NodeJob) -> None:
        self._job = job
        self._address = job.dashboard.address

    async def answer(self, on_progress: OnProgress, rounds: int, limit_s: float) -> Answer:
        """The samples of all nodes; raises an error of the catalogue."""

        def report(done: object) -> None:
            if isinstance(done, int):
                on_progress(min(done, rounds), rounds)

        content = await self._content(self._job.order["answer"], limit_s, report)
        return await asyncio.to_thread(answer_of, self._address, content)

    async def ask(self, question: Question, answer: Answer) -> FurtherAnswers:
        """Returns the answers of these processes; a failure costs none of the samples."""
        node_of = {
            (node.host, process.pid): node_id
            for node, node_id in zip(answer.nodes, answer.node_ids, strict=True)
            for process in node.processes
        }
        by_node = question.by(node_of.__getitem__)
        wanted = {node_id: part.pids for node_id, part in by_node.items()}
        answers: Any = None
        try:
            await self._job.put(self._job.order["question"], wanted)
            answers = json.loads(await self._content(self._job.order["readings"], READ_LIMIT_S))
        except (EaglerayError, ValueError, RecursionError) as error:
            log.info("no further answers at %s: %s", self._address, error)
        answers = answers if isinstance(answers, dict) else {}
        return joined(answers_in(part, answers.get(node)) for node, part in by_node.items())

    async def _content(
        self, name: str, limit_s: float, report: Callable[[object], None] = lambda _: None
    ) -> bytes:
        """The file of this name, once the job has announced it."""
        try:
            announced = await asyncio.wait_for(self._announced(name, report), limit_s)
        except asyncio.TimeoutError:
            raise job_unfinished(self._address, t("stacks"), limit_s) from None
        try:
            return await self._job.file(name, announced, LARGEST_ANSWER)
        except ValueError as error:
            raise unreadable_answer(self._address) from error

    async def _announced(self, name: str, report: Callable[[object], None]) -> dict[str, Any]:
        async with contextlib.aclosing(self._job.announced()) as announcements:
            async for announced in announcements:
                if announced.get("file") == name:
                    return announced
                report(announced.get("round"))
        raise await self._job.failure()


def part_of(
    nodes: Sequence[NodeRow], listed: ClusterRows, jobs: Collection[str], workers: str
) -> dict[str, NodeNames]:
    """Returns what each node samples of these jobs and workers."""
    part = of_workers(listed, workers)
    names = names_of_nodes(nodes, part.actors, part.workers)
    return with_jobs(names, part.tasks, jobs, is_part=bool(workers))


def answer_of(address: str, content: bytes) -> Answer:
    """The answer in the file of the job; raises `unreadable-answer` for something else."""
    try:
        value = json.loads(content)
        if not isinstance(value, dict):
            raise ValueError("not an object")
        nodes = sample_codec.load(value.get("samples"))
        silent = value.get("silent")
        if not isinstance(silent, list):
            raise ValueError("no list of silent nodes")
        node_ids = value.get("nodes")
        if not isinstance(node_ids, list) or len(node_ids) != len(nodes):
            raise ValueError("no list of nodes")
        return Answer(
            tuple(nodes), tuple(map(str, node_ids)), tuple(_silent(row) for row in silent)
        )
    except (ValueError, RecursionError) as error:
        raise unreadable_answer(address, str(error)) from error


def _program(package: str, inside: bool) -> str:
    reads = f"from {package}.inspecting.process_answers import raw_readings" if inside else ""
    return (
        f"from {package}.sampling.ray_job_main import main; "
        f"from {package}.inspecting.flight_record_socket import served_records; "
        f"{reads or 'raw_readings = None'}; main(raw_readings, served_records)"
    )


def _request(names: Mapping[str, NodeNames], plan: SamplingPlan) -> bytes:
    nodes = {node_id: asdict(each, recurse=False) for node_id, each in names.items()}
    return json.dumps({"rounds": plan.rounds, "pause_s": plan.pause_s, "nodes": nodes}).encode()


async def rows_of(dashboard: Dashboard) -> ClusterRows:
    actors, workers, tasks = await asyncio.gather(
        dashboard.actors(), dashboard.all_workers(), _tasks(dashboard)
    )
    live_jobs = live_jobs_of(workers)
    return ClusterRows(tuple(actors), tuple(workers), tuple(tasks), live_jobs=live_jobs)


async def _dead(dashboard: Dashboard, jobs: Collection[str]) -> list[DeadActor]:
    """The dead actors of these jobs, of all that still have actors without any; none where Ray fails to list them."""
    try:
        listed = await dashboard.all_actors()
    except EaglerayError as error:
        log.info("the actors of %s are not listed: %s %s", dashboard.address, error, error.detail)
        return []
    # Ray also lists actors of jobs that ended long ago (the newest 100,000, maximum_gcs_destroyed_actor_cached_count).
    return dead_in(listed, jobs or {row.job_id for row in listed if row.state != "DEAD"})


async def _tasks(dashboard: Dashboard) -> list[TaskRow]:
    """The tasks that have not ended: as the dashboard lists them, else the GCS of a cluster with a node on this machine.

    None if both fail, since most verdicts need only stacks.
    """
    try:
        return await dashboard.unended_tasks()
    except EaglerayError as error:
        log.info("the tasks of %s are not listed: %s %s", dashboard.address, error, error.detail)
    local = await dashboard.local_nodes(await dashboard.nodes())
    pids = {each.raylet for each in local.values()}
    raylets = [each for each in await off_loop(own_raylets) if each.pid in pids]
    jobs = live_jobs_of(await dashboard.all_workers())
    state = await gcs_state(raylets, jobs) if raylets else None
    return list(state.tasks) if state else []


async def _groups(dashboard: Dashboard) -> list[PlacementGroupRow]:
    """The placement groups with and without room; none where Ray fails to list them."""
    try:
        return await dashboard.placement_groups()
    except EaglerayError as error:
        log.info("the groups of %s are not listed: %s %s", dashboard.address, error, error.detail)
        return []


def _silent(row: Any) -> SilentNode:
    texts = [
        row.get(key) if isinstance(row, dict) else None for key in ("host", "reason", "detail")
    ]
    host, reason, detail = (printable(text, 300) if isinstance(text, str) else "" for text in texts)
    if reason not in ("timeout", "failed"):
        raise ValueError("a silent node without a reason")
    return SilentNode(host, reason, detail)
