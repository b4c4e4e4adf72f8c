"""Takes a picture of the ranks on several hosts, which are reached through the user's ssh."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from eagleray.common.errors import EaglerayError, last_line
from eagleray.observe.hangs import errors
from eagleray.observe.hangs.collecting.completed_picture import completed, to_ask, with_answers
from eagleray.observe.hangs.collecting.node_streams import (
    PYTHON,
    NodeAnswers,
    SamplingOrder,
    follow,
)
from eagleray.observe.hangs.collecting.sampling_plan import DEFAULT_PLAN, SamplingPlan
from eagleray.observe.hangs.evidence import HangEvidence, evidence
from eagleray.observe.hangs.model import Picture
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
        plan: SamplingPlan = DEFAULT_PLAN,
    ) -> Picture:
        """The picture of the ranks of this user on all `hosts`, or of processes by their command line.

        A cancellation ends all sessions.
        """
        names = [checked(RouteSpec(ssh=host)).ssh for host in dict.fromkeys(hosts)]
        order = SamplingOrder(plan.rounds, plan.pause_s, matching=matching, inside=plan.inside)
        answers = NodeAnswers(order, names, plan.on_progress)

        def sampled() -> HangEvidence:
            return evidence(answers.samples(), plan.pause_s, is_whole=False)

        question = SharedQuestion(len(names), lambda: answers.ask(to_ask(sampled(), plan)))
        slots = asyncio.Semaphore(AT_ONCE)
        failures = await asyncio.gather(
            *(self._sample(host, order, answers, slots, question) for host in names)
        )
        samples = answers.samples()
        problem = next((error for error in failures if error is not None), None)
        if not samples and problem is not None:
            raise problem
        if not samples:
            first = answers.silent()[0]
            raise errors.hosts_silent(first.node, first.detail)
        if not any(node.processes for node in samples):
            missing = errors.no_commands_on(names, matching) if matching else None
            raise missing or errors.no_ranks_on(names)
        return completed(with_answers(sampled(), answers.further()), answers.silent())

    async def _sample(
        self,
        host: str,
        order: SamplingOrder,
        answers: NodeAnswers,
        slots: asyncio.Semaphore,
        question: SharedQuestion,
    ) -> EaglerayError | None:
        """The error of a host that can't be reached; what it answers goes into `answers`."""
        async with AsyncExitStack() as sampling:
            sampling.callback(question.arrive)
            await sampling.enter_async_context(slots)

            async def further() -> bytes:
                # A host that waits for the others holds none of them up.
                await sampling.aclose()
                return await question.get()

            try:
                content = await asyncio.to_thread(order.input, host)
                process = await self._commands.start(host, list(PYTHON))
            except EaglerayError as error:
                answers.lose([host], str(error))
                return error
            answers.begin([host])
            stderr = await follow(
                process, content, answers, lambda: answers.is_over_of(host), further
            )
            answers.lose([host], last_line(stderr))
            return None


class SharedQuestion:
    """The further input of all hosts, made once each of them is sampled or given up."""

    def __init__(self, hosts: int, make: Callable[[], bytes]) -> None:
        self._missing = hosts
        self._make = make
        self._made = asyncio.Event()
        self._question = b""

    def arrive(self) -> None:
        """To be called once for each host."""
        self._missing -= 1
        if self._missing == 0:
            try:
                self._question = self._make()
            finally:
                self._made.set()

    async def get(self) -> bytes:
        await self._made.wait()
        return self._question
