"""Comparisons as the editor requests them: trust, progress, cancellation, and a server that is killed meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts import messages
from eagleray.rollouts.comparing.comparison_run import ComparisonRequest
from eagleray.rollouts.comparing.engines.http import EngineHttp
from eagleray.rollouts.handlers import BatchHandlers, ComparisonHandlers
from eagleray.rollouts.servers.model import InferenceServer

from tests.engine.fixtures import Engine, serving


def servers(key: str = "") -> Any:
    """Servers that are resolved by their URLs alone."""

    async def resolve(name: str) -> InferenceServer:
        return InferenceServer(name, name, key, "ready")

    return SimpleNamespace(resolve=resolve)


def handlers(key: str = "", *, trusted: bool = True) -> ComparisonHandlers:
    return ComparisonHandlers(servers(key), trusted=trusted)


@pytest.fixture
def prompts(tmp_path: Path) -> str:
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(f'{{"prompt": "def parse_{at}(self"}}\n' for at in range(64)))
    return str(file)


async def test_page_gets_the_verdict_and_progress_names_each_step(
    engine: Engine, prompts: str
) -> None:
    said: list[str] = []
    request = ComparisonRequest(engine.url, engine.url, prompts, limit=3, max_tokens=4)
    page = await handlers(engine.key).compare(
        request, lambda text, percentage=None: said.append(text)
    )
    assert (page.verdict, page.sequences) == ("consistent", 3)
    assert said[0] == "Connecting"
    assert "Computing logprobs: 3/3" in said


async def test_untrusted_workspace_runs_no_python_of_its_own() -> None:
    untrusted = handlers(trusted=False)
    with pytest.raises(EaglerayError, match="needs a trusted workspace"):
        await untrusted.compare(ComparisonRequest("a", "torch:model", "x"), print)
    batches = BatchHandlers(servers(), trusted=False)
    for reading in (
        batches.summary(messages.BatchFile("batch.pt", "python")),
        batches.save(messages.DumpToSave("dump.jsonl", "batch.pt", "python")),
    ):
        with pytest.raises(EaglerayError, match="needs a trusted workspace"):
            await reading


async def test_cancellation_leaves_no_connection(
    engine: Engine, prompts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[EngineHttp] = []
    close = EngineHttp.close

    async def closing(http: EngineHttp) -> None:
        closed.append(http)
        await close(http)

    monkeypatch.setattr(EngineHttp, "close", closing)
    generating = asyncio.Event()

    def report(text: str, percentage: int | None = None) -> None:
        if text.startswith("Generating"):
            generating.set()

    request = ComparisonRequest(engine.url, engine.url, prompts, max_tokens=400)
    comparing = asyncio.create_task(handlers(engine.key).compare(request, report))
    await generating.wait()
    comparing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await comparing
    assert len(closed) == 2
    assert all(http._session is None or http._session.closed for http in closed)


async def test_server_that_is_killed_in_a_comparison_is_named(prompts: str) -> None:
    with serving() as killed:

        def report(text: str, percentage: int | None = None) -> None:
            if text.startswith("Generating"):
                os.kill(killed.pid, signal.SIGKILL)

        request = ComparisonRequest(killed.url, killed.url, prompts, limit=8, max_tokens=200)
        with pytest.raises(EaglerayError) as failed:
            await handlers(killed.key).compare(request, report)
    assert failed.value.code == "engine-unreachable"
