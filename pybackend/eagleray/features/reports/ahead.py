"""Reports that have just come here: what nsys has to make of them is made before somebody opens them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError

# Whoever records more at once opens few of them.
MOST = 16

log = logging.getLogger(__name__)


class Ahead:
    """Lives on one event loop, and ends with `close`; `make` is called for one report after another.

    What was there when it was first told is left to whoever opens it.
    """

    def __init__(self, make: Callable[[str], Awaitable[None]]) -> None:
        self._make = make
        self._known: set[str] | None = None
        self._todo: list[str] = []
        self._working: asyncio.Task[None] | None = None

    def told(self, files: Collection[str]) -> None:
        """These are the reports that are here now."""
        new = set(files) - self._known if self._known is not None else ()
        self._known = set(files)
        self._todo = [*self._todo, *sorted(new)][:MOST]
        if self._todo and (self._working is None or self._working.done()):
            self._working = tasks.owned(self._work(), "reports ahead", tasks.only_logged)

    async def done(self) -> None:
        """Returns when all that was told is made."""
        if self._working is not None:
            await self._working

    async def close(self) -> None:
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    async def _work(self) -> None:
        while self._todo:
            report = self._todo.pop(0)
            try:
                await self._make(report)
            except EaglerayError as error:
                # Whoever opens it is told.
                log.info("%s", error)
            except OSError as error:
                log.info("%s: %s", report, error.strerror)
            except Exception as error:
                # The others are worth having all the same.
                tasks.log_failure(f"report {report} ahead", error)
