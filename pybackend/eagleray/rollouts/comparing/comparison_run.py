"""Compares what the user names: opens A and B, reads the prompts, and closes the engines again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

from attrs import evolve, frozen
from yarl import URL

from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import counted
from eagleray.rollouts.comparing.comparison import MAX_TOKENS, ComparedSide, compare
from eagleray.rollouts.comparing.engines.detection import opened_engine
from eagleray.rollouts.comparing.engines.dump import (
    ROLLOUT_LOGPROBS,
    TRAINER_LOGPROBS,
    LogprobDump,
    completed,
    read_dump,
)
from eagleray.rollouts.comparing.engines.engine import ComparedEngine
from eagleray.rollouts.comparing.engines.http import EngineAddress
from eagleray.rollouts.comparing.engines.llama_cpp import LlamaCppEngine
from eagleray.rollouts.comparing.engines.torch_reference import TorchModel, TorchReference
from eagleray.rollouts.comparing.engines.wave_prompts import AddressOf, listed_server
from eagleray.rollouts.comparing.model import EngineComparison, OnProgress, unheard
from eagleray.rollouts.comparing.prompts import PromptFile, read_prompts
from eagleray.rollouts.comparing.targets import DumpTarget, ServerTarget, target_of
from eagleray.rollouts.servers.errors import server_not_ready
from eagleray.rollouts.servers.servers import Servers

EngineType = TypeVar("EngineType", bound=ComparedEngine)


@frozen
class ComparisonRequest:
    """A and B as `target_of` reads them, the file of the prompts ("" for dumps), and what `torch:DIR` runs in."""

    a: str
    b: str
    data: str = ""
    python: str = ""
    limit: int = 0
    max_tokens: int = MAX_TOKENS


async def compare_named(
    servers: Servers, request: ComparisonRequest, on_progress: OnProgress = unheard
) -> EngineComparison:
    """Raises errors of the catalogue; lines that can't be read are counted in the notes."""
    prompts = await _prompts(request)
    async with AsyncExitStack() as stack:
        a = await _opened(servers, stack, request, request.a, ROLLOUT_LOGPROBS)
        b = await _opened(servers, stack, request, request.b, TRAINER_LOGPROBS)
        compared = await compare(a, b, prompts.prompts, request.max_tokens, on_progress)
    dumps = [side for side in (a, b) if isinstance(side, LogprobDump)]
    return evolve(compared, notes=(*compared.notes, *_left_out(prompts, dumps)))


def _left_out(prompts: PromptFile, dumps: Sequence[LogprobDump]) -> Iterator[str]:
    unreadable = prompts.unreadable + sum(dump.unreadable for dump in dumps)
    if unreadable:
        yield counted(
            unreadable,
            "{n} line is left out: it can't be read.",
            "{n} lines are left out: they can't be read.",
        )
    without_prompts = sum(len(dump.promptless) for dump in dumps)
    if without_prompts:
        yield counted(
            without_prompts,
            "{n} run is left out: no server has its prompt.",
            "{n} runs are left out: no server has their prompts.",
        )


async def _prompts(request: ComparisonRequest) -> PromptFile:
    if not request.data:
        return PromptFile((), 0)
    return await off_loop(partial(read_prompts, Path(request.data), request.limit))


async def _opened(
    servers: Servers,
    stack: AsyncExitStack,
    request: ComparisonRequest,
    written: str,
    fields: tuple[str, ...],
) -> ComparedSide:
    target = await off_loop(partial(target_of, written))
    if isinstance(target, DumpTarget):
        names = (target.field,) if target.field else fields
        described = {"dtype": target.dtype, "model": target.model}
        dump = await off_loop(partial(read_dump, target.path, names, request.limit, **described))
        other = request.b if written == request.a else request.a
        is_server = isinstance(await off_loop(partial(target_of, other)), ServerTarget)
        address_of = _server_of_waves(servers, other if is_server else "")
        return await completed(dump, target.path, address_of)
    if isinstance(target, TorchModel):
        return _closed_by(stack, TorchReference(target, request.python))
    return _closed_by(stack, await opened_engine(await _address(servers, target.written)))


def _closed_by(stack: AsyncExitStack, engine: EngineType) -> EngineType:
    stack.push_async_callback(engine.close)
    return engine


def _server_of_waves(servers: Servers, other: str) -> AddressOf:
    """1. The wave's own server, if it is listed.  2. The `other` one, which the user has named, if it is llama.cpp too."""
    listed = listed_server(servers, "")

    async def address_of(url: str) -> EngineAddress | None:
        address = await listed(url)
        if address is not None or not other:
            return address
        named = await _address(servers, other)
        engine = await opened_engine(named)
        await engine.close()
        return named if isinstance(engine, LlamaCppEngine) else None

    return address_of


async def _address(servers: Servers, written: str) -> EngineAddress:
    """The server of that name or URL, with its key; a URL that no server has gets OPENAI_API_KEY."""
    server = await servers.resolve(written)
    if not server.url:
        raise server_not_ready(server.name, server.reason)
    # Servers that aren't in the list are named by their URL.
    name = URL(server.name).authority if "://" in server.name else server.name
    return EngineAddress(name, server.url, server.api_key)
