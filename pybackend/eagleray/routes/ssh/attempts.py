"""Attempts to connect that run beside one another, until one of them is ready."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

from eagleray.common import tasks
from eagleray.common.retry import jittered
from eagleray.routes.asking import Ask
from eagleray.routes.ssh.attempt import Attempt, Failed, Target
from eagleray.routes.ssh.process import SshProcess

# For the person's own attempt; what they take to answer does not count, but a telephone that they look for
# does.  Servers wait for 120 s.
FIRST_S = 90.0
# A lost packet of a connection that begins is sent again after 1, 3 and 7 s, so that a fresh attempt is what
# finds a link that has come back.  After a while that is not worth its noise at the far end, where each
# attempt through a jump host that answers is an authentication: 4,800 an hour at first, 60 after ten minutes.
_PACES = ((30.0, 0.75), (300.0, 2.5), (600.0, 7.5), (math.inf, 60.0))
# An attempt has four paces of time, but no more than this.
_LONGEST_S = 30.0
AT_ONCE = 4
_LONGEST_USUAL_S = 3.0


class Trying:
    """Owns the attempts to one target; those that run by themselves are paced, the person's runs alone."""

    def __init__(self, target: Target, changed: Callable[[], None]) -> None:
        self._target = target
        self._changed = changed
        self._running: dict[asyncio.Task[SshProcess | Failed], Attempt] = {}
        self._ending: set[asyncio.Task[SshProcess | Failed]] = set()
        self._began: float | None = None
        self._due = -math.inf
        # How long a connection takes here, jump hosts and all.
        self._usual_s = 0.0

    @property
    def is_asking(self) -> bool:
        """Whether the person is to answer something now."""
        return any(attempt.is_asking for attempt in self._running.values())

    def ask(self, ask: Ask) -> None:
        """Begins the person's attempt, unless it runs."""
        if not any(attempt.asks for attempt in self._running.values()):
            self.stop()
            self._start(Attempt(self._target, FIRST_S, self._changed, ask))

    def go_on(self) -> None:
        """Begins another attempt if it is time for it, with jitter: several machines may have lost the same host."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
        tried_s = now - self._began
        pace_s = next(pace for until, pace in _PACES if tried_s < until)
        pace_s = max(pace_s, self._usual_s)
        if len(self._running) < AT_ONCE and now >= self._due:
            self._due = now + jittered(pace_s)
            limit_s = min(pace_s * AT_ONCE, _LONGEST_S)
            self._start(Attempt(self._target, limit_s, self._changed))

    def hurry(self) -> None:
        """Something has changed: an attempt begins at once, and others soon after it, as at first."""
        self._began, self._due = None, -math.inf

    def take(self) -> tuple[SshProcess | None, list[tuple[Attempt, Failed]]]:
        """What has come of the attempts since: a process that is ready, and why others are not."""
        failures = []
        ready: SshProcess | None = None
        for task in [task for task in self._running if task.done()]:
            attempt, outcome = self._running.pop(task), task.result()
            if isinstance(outcome, Failed):
                failures.append((attempt, outcome))
            elif ready is None:
                ready = outcome
                self._usual_s = min(attempt.took_s, _LONGEST_USUAL_S)
            else:
                outcome.stop()
        return ready, failures

    def stop(self) -> None:
        """Ends all attempts."""
        for task in self._running:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ended)
        self._running.clear()
        self.hurry()

    async def end(self) -> None:
        """Ends all attempts and waits for their processes."""
        self.stop()
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _start(self, attempt: Attempt) -> None:
        task = tasks.shared(_outcome(attempt), "ssh")
        self._running[task] = attempt
        task.add_done_callback(lambda _: self._changed())

    def _ended(self, task: asyncio.Task[SshProcess | Failed]) -> None:
        self._ending.discard(task)
        outcome = None if task.cancelled() or task.exception() else task.result()
        if isinstance(outcome, SshProcess):
            # It was ready in the very moment in which it was stopped.
            outcome.stop()


async def _outcome(attempt: Attempt) -> SshProcess | Failed:
    """A failure is one of the two usual outcomes, and no news: many attempts follow one another."""
    try:
        return await attempt.run()
    except Failed as error:
        return error
