"""Answers of the nodes of jobs, requested by several windows at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from eagleray.slurm import nodes as slurm_nodes
from eagleray.tools.commands import Commands
from eagleray.tools.shared_cache import SharedAnswers

from tests.clusters.fake_site import FakeJob, FakeSite, asking, ray


async def test_windows_that_query_different_jobs_each_get_their_answer(tmp_path: Path) -> None:
    """Both wait while a third asks; the answer to the first of them says nothing about the other one's job."""
    site = FakeSite()
    site.jobs = [FakeJob("1", nodelist="node-1", count=1), FakeJob("2", nodelist="node-2", count=1)]
    site.nodes = {"node-1": ray("node-1"), "node-2": ray("node-2")}
    _, queue, nodes = asking(Commands(site.run, {"PATH": ""}), tmp_path)
    jobs = (await queue.get("login", 0.0)).jobs
    is_locked, may_end = asyncio.Event(), asyncio.Event()

    async def ask(before: Any) -> Any:
        is_locked.set()
        await may_end.wait()
        return {}

    third = SharedAnswers(lambda: tmp_path / "answers")
    locking = asyncio.create_task(third.get(f"{slurm_nodes._FORMAT} login", 0.0, ask))
    await is_locked.wait()
    windows = [
        asyncio.create_task(nodes.get("login", [job], {job.id: [f"node-{job.id}"]}, 0.0))
        for job in jobs
    ]
    await asyncio.sleep(0)
    may_end.set()
    await locking
    answers = [await window for window in windows]
    assert [
        [item.answer for item in found[job.id]] for found, job in zip(answers, jobs, strict=True)
    ] == [
        ["ray"],
        ["ray"],
    ]
