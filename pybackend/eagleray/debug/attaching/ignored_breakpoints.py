"""Ignored breakpoints: lines at which workers of a cluster are continued as soon as they stop there.

A rule holds for the life of a cluster (its session) and outlives the sidecar in a small file.  The
adapter applies it to its attached workers; others are attached to when they stop.  They stay attached: a
debugpy whose client detaches and attaches again at once stops responding (1.8.22), and the next stop is faster.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import asdict

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.atomic_file import alone, check_replaceable, replace_text
from eagleray.common.blocking_calls import InOrder
from eagleray.common.errors import UNREADABLE_JSON, EaglerayError
from eagleray.common.tasks import gather_bounded
from eagleray.debug.attaching.attacher import RoutesTo, directly
from eagleray.debug.attaching.model import IgnoredBreakpoint
from eagleray.debug.workers.model import PausedWorker
from eagleray.protocol.adapter_control import AttachParams, IgnoreParams

# How many workers are continued at a time.
AT_ONCE = 16
# A file without a version has this format.
FORMAT = 1
# The name in the file.
_LISTED_LINE = "seen_line"

log = logging.getLogger(__name__)


class BreakpointIgnorer:
    """Stores the rules and continues workers that stop at them; lives on the sidecar's event loop."""

    def __init__(self, sessions: AdapterSessions, file: Path, routes: RoutesTo = directly) -> None:
        self._sessions = sessions
        self._file = file
        self._routes = routes
        self._files = InOrder()

    async def rules(self) -> list[IgnoredBreakpoint]:
        """All rules, read each time, since several windows share them."""
        return await self._files.run(partial(_read, self._file))

    async def ignore(self, rule: IgnoredBreakpoint) -> None:
        """Ignores a breakpoint from now on."""
        await self._files.run(partial(self._add, rule))
        await self._sessions.ignore(IgnoreParams(rule.session, rule.path, rule.line))

    async def forget(self, cluster: str, path: str, line: int) -> None:
        """Removes a rule."""
        for rule in await self._files.run(partial(self._removed, cluster, path, line)):
            params = IgnoreParams(rule.session, rule.path, rule.line, ignore=False)
            await self._sessions.ignore(params)

    async def continue_ignored(self, targets: Sequence[PausedWorker]) -> None:
        """Continues the paused workers that wait at an ignored breakpoint."""
        rules = await self.rules()
        if not rules:
            return

        async def continue_worker(target: PausedWorker) -> None:
            try:
                await self._continue_if_ignored(target, rules)
            except EaglerayError as error:
                log.info("%s is not continued: %s", target.name, error.code)

        waiting = [t for t in targets if t.state == "paused" and _may_concern(t, rules)]
        await gather_bounded(continue_worker, waiting, AT_ONCE)

    async def _continue_if_ignored(
        self, target: PausedWorker, rules: list[IgnoredBreakpoint]
    ) -> None:
        result = await self._sessions.attach(
            AttachParams(
                session=target.session,
                worker_id=target.worker_id,
                cluster=target.cluster,
                name=target.name,
                host=target.node_ip,
                port=target.port,
                routes=self._routes(target.cluster, target.node_ip),
                seen=False,
            )
        )
        stop = result.worker.stop
        for rule in rules:
            if stop and (target.session, stop.path, stop.line) == (
                rule.session,
                rule.path,
                rule.line,
            ):
                # An adapter that was started since the rule was made does not know it yet.
                await self._sessions.ignore(IgnoreParams(rule.session, rule.path, rule.line))

    def _add(self, rule: IgnoredBreakpoint) -> None:
        with self._locked():
            others = [r for r in _read(self._file) if not _same_place(r, rule)]
            self._write([r for r in others if not _outdated(r, rule)] + [rule])

    def _removed(self, cluster: str, path: str, line: int) -> list[IgnoredBreakpoint]:
        with self._locked():
            rules = _read(self._file)
            gone = [r for r in rules if (r.cluster, r.path, r.line) == (cluster, path, line)]
            self._write([r for r in rules if r not in gone])
        return gone

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Locks the file: two windows that change the rules at once must not lose a change."""
        with alone(self._file):
            check_replaceable(self._file, FORMAT)
            yield

    def _write(self, rules: list[IgnoredBreakpoint]) -> None:
        plain = [_plain(rule) for rule in rules]
        replace_text(self._file, json.dumps(plain))


def _may_concern(target: PausedWorker, rules: list[IgnoredBreakpoint]) -> bool:
    of_session = [r for r in rules if r.session == target.session]
    place = target.location
    if place is None:
        return bool(of_session)
    lines = {line for r in of_session if r.path == place.path for line in (r.line, r.listed_line)}
    return bool(lines & {0, place.line})


def _same_place(a: IgnoredBreakpoint, b: IgnoredBreakpoint) -> bool:
    return (a.session, a.path, a.line) == (b.session, b.path, b.line)


def _outdated(old: IgnoredBreakpoint, new: IgnoredBreakpoint) -> bool:
    """The cluster was restarted since."""
    return old.cluster == new.cluster and old.session != new.session


def _read(file: Path) -> list[IgnoredBreakpoint]:
    try:
        return [_rule(value) for value in json.loads(file.read_text("utf-8"))]  # own file
    except FileNotFoundError:
        return []
    except UNREADABLE_JSON as error:
        log.warning("can't read %s, which counts as empty: %s", file, error)
        return []


def _plain(rule: IgnoredBreakpoint) -> dict[str, Any]:
    """A rule by the names of the file."""
    value = asdict(rule)
    value[_LISTED_LINE] = value.pop("listed_line")
    return value


def _rule(value: dict[str, Any]) -> IgnoredBreakpoint:
    """Raises ValueError for values of other types."""
    values = dict(value)
    listed_line = values.pop(_LISTED_LINE, 0)
    rule = IgnoredBreakpoint(**values, listed_line=listed_line)
    texts = (rule.cluster, rule.session, rule.path)
    lines = (rule.line, rule.listed_line)
    if not all(isinstance(text, str) for text in texts) or any(type(n) is not int for n in lines):
        raise ValueError("a rule has texts and lines")
    return rule
