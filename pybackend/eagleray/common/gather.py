"""Runs coroutines concurrently with a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


async def gather_bounded(
    do: Callable[[A], Awaitable[R]], things: Iterable[A], at_once: int
) -> list[R]:
    """`await do(thing)` for all `things`, at most `at_once` at a time; the results keep their order.

    The first exception ends the others and is raised, and so does a cancellation: nothing runs on.
    """
    semaphore = asyncio.Semaphore(at_once)

    async def limited(thing: A) -> R:
        async with semaphore:
            return await do(thing)

    tasks = [asyncio.ensure_future(limited(thing)) for thing in things]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
