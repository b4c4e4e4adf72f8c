"""Takes a picture of the ranks on several hosts, which are reached through the user's ssh."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from eagleray.common.errors import EaglerayError, last_line
from eagleray.features.hangs import errors
from eagleray.features.hangs.collecting.nodes import PYTHON, NodeAnswers, SamplingOrder, follow
from eagleray.features.hangs.collecting.rounds import PAUSE_S, ROUNDS, OnProgress, unheard
from eagleray.features.hangs.diagnosis import diagnosis
from eagleray.features.hangs.evidence import evidence
from eagleray.features.hangs.model import Picture
from eagleray.features.hangs.picture import picture
from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.tools.commands import Commands

# Each connection is a process here, and a login on its host.
AT_ONCE = 64


class HostPictures:
    """Takes pictures on one event loop; each is one ssh session a host, over connections that others share."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def take(
        self,
        hosts: Sequence[str],
        matching: str = "",
        on_progress: OnProgress = unheard,
        rounds: int = ROUNDS,
        pause_s: float = PAUSE_S,
    ) -> Picture:
        """The picture of the ranks of this user on all `hosts`, or of processes by their command line.

        A cancellation ends all sessions.
        """
        names = [checked(RouteSpec(ssh=host)).ssh for host in dict.fromkeys(hosts)]
        order = SamplingOrder(rounds, pause_s, matching=matching)
        answers = NodeAnswers(order, names, on_progress)
        slots = asyncio.Semaphore(AT_ONCE)
        failures = await asyncio.gather(
            *(self._sample(host, order, answers, slots) for host in names)
        )
        samples = answers.samples()
        problem = next((error for error in failures if error is not None), None)
        if not samples and problem is not None:
            raise problem
        if not samples:
            raise errors.hosts_silent(answers.silent()[0])
        if not any(node.processes for node in samples):
            raise errors.no_ranks_on(names, matching)
        sampled = evidence(samples, pause_s, is_whole=False)
        return picture(sampled, diagnosis(sampled), time.time(), answers.silent())

    async def _sample(
        self, host: str, order: SamplingOrder, answers: NodeAnswers, slots: asyncio.Semaphore
    ) -> EaglerayError | None:
        """The error of a host that can't be reached; what it answers goes into `answers`."""
        async with slots:
            try:
                content = await asyncio.to_thread(order.input, host)
                process = await self._commands.start(host, list(PYTHON))
            except EaglerayError as error:
                answers.lose([host], str(error))
                return error
            answers.begin([host])
            stderr = await follow(process, content, answers, lambda: answers.is_over_of(host))
            answers.lose([host], last_line(stderr))
            return None
