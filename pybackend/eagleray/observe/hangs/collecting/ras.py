"""Takes a picture by NCCL's RAS alone, at an address that the user names: it needs no process, no ptrace and no torch."""

from __future__ import annotations

import asyncio
import time

from eagleray.observe.hangs import errors
from eagleray.observe.hangs.collecting.completed_picture import completed
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.ras_evidence import evidence_of_answers
from eagleray.remote.sampling import ras
from eagleray.remote.sampling.ras_node import own_addresses, sockets_at

_LIMIT_S = 20.0


async def take(address: str, plan: SamplingPlan) -> Picture:
    """The picture of the jobs that answer at HOST:PORT, of which each round is an answer; raises EaglerayError without one."""
    host, port = _parsed(address)
    rounds: list[list[ras.RasAnswer]] = []
    reasons: list[str] = []
    # Two answers tell what is launched meanwhile.
    count = min(2, plan.rounds)
    for number in range(count):
        if number:
            await asyncio.sleep(plan.pause_s)
        answers, missing = await asyncio.to_thread(_answers, host, port)
        rounds.append(answers)
        reasons += missing
        plan.on_progress(number + 1, count)
    if not rounds[-1]:
        raise errors.no_ras(address, reasons)
    sampled = evidence_of_answers([each for each in rounds if each], address, reasons, plan.pause_s)
    return await asyncio.to_thread(completed, sampled)


def _answers(host: str, port: int) -> tuple[list[ras.RasAnswer], list[str]]:
    own, sockets = own_addresses(), sockets_at(port)
    is_here = host in (*own, "localhost")
    answering: set[int] = set()

    def is_whole(answer: ras.RasAnswer) -> bool:
        """Whether all processes that listen here are in an answer."""
        answering.update(
            rank.pid for each in answer.communicators for rank in each.ranks if rank.host in own
        )
        return is_here and (sockets == 1 or len(answering) >= sockets)

    until = time.monotonic() + _LIMIT_S
    count = sockets if is_here else 1
    return ras.ask_all(host, port, max(1, count), until, is_whole, is_old_allowed=True)


def _parsed(address: str) -> tuple[str, int]:
    host, _, port = address.strip().rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < 2**16:
        raise errors.no_ras_address(address)
    return host.strip("[]"), int(port)
