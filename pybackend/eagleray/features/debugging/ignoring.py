"""Ignored breakpoints: places at which workers of a cluster are let run on as soon as they wait there.

A rule holds for the life of a cluster (its session) and outlives the sidecar in a small file.  The
adapter applies it to the workers that it is attached to; others are attached to when they wait.  They
stay attached: a debugpy that is left and joined again at once goes deaf, and the next time is faster.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

from attrs import asdict, frozen

from eagleray.adapter.protocol import AttachParams, IgnoreParams
from eagleray.clients.adapter import Adapters
from eagleray.common.errors import EaglerayError
from eagleray.features.debugging.needs import Target

log = logging.getLogger(__name__)


@frozen
class Rule:
    """`line` is where a worker stands after attaching; `seen_line` where the list showed it, 0 if unknown."""

    cluster: str
    session: str
    path: str
    line: int
    seen_line: int = 0


class Ignoring:
    """Keeps the rules and lets workers go by; lives on the sidecar's event loop."""

    def __init__(self, adapters: Adapters, file: Path) -> None:
        self._adapters = adapters
        self._file = file
        self._rules = _read(file)
        self._busy: set[tuple[str, str]] = set()

    def rules(self) -> list[Rule]:
        return list(self._rules)

    async def ignore(self, rule: Rule) -> None:
        """From now on no worker of the cluster is to stop there."""
        kept = [r for r in self._rules if not _same_place(r, rule)]
        self._keep([r for r in kept if not _outdated(r, rule)] + [rule])
        await self._adapters.ignore(IgnoreParams(rule.session, rule.path, rule.line))

    async def forget(self, cluster: str, path: str, line: int) -> None:
        """Takes a rule back."""
        gone = [r for r in self._rules if (r.cluster, r.path, r.line) == (cluster, path, line)]
        self._keep([r for r in self._rules if r not in gone])
        for rule in gone:
            params = IgnoreParams(rule.session, rule.path, rule.line, ignore=False)
            await self._adapters.ignore(params)

    async def pass_by(self, targets: Sequence[Target]) -> None:
        """Lets those of the paused workers run on that wait at an ignored place."""
        for target in targets:
            key = (target.session, target.worker_id)
            if target.state != "paused" or key in self._busy or not self._may_concern(target):
                continue
            self._busy.add(key)
            try:
                await self._let_by(target)
            except EaglerayError as error:
                log.info("%s is not let by: %s", target.name, error.code)
            finally:
                self._busy.discard(key)

    def _may_concern(self, target: Target) -> bool:
        rules = [r for r in self._rules if r.session == target.session]
        place = target.place
        if place is None:
            return bool(rules)
        return any(r.path == place.path and r.seen_line in (0, place.line) for r in rules)

    async def _let_by(self, target: Target) -> None:
        result = await self._adapters.attach(
            AttachParams(
                session=target.session,
                worker_id=target.worker_id,
                cluster=target.cluster,
                name=target.name,
                host=target.node_ip,
                port=target.port,
            )
        )
        stop = result.worker.stop
        for rule in self._rules:
            if stop and (target.session, stop.path, stop.line) == (
                rule.session,
                rule.path,
                rule.line,
            ):
                # An adapter that was started since the rule was made does not know it yet.
                await self._adapters.ignore(IgnoreParams(rule.session, rule.path, rule.line))

    def _keep(self, rules: list[Rule]) -> None:
        self._rules = rules
        unfinished = self._file.with_suffix(".new")
        unfinished.write_text(json.dumps([asdict(rule) for rule in rules]), "utf-8")
        unfinished.replace(self._file)


def _same_place(a: Rule, b: Rule) -> bool:
    return (a.session, a.path, a.line) == (b.session, b.path, b.line)


def _outdated(old: Rule, new: Rule) -> bool:
    """The cluster was restarted since."""
    return old.cluster == new.cluster and old.session != new.session


def _read(file: Path) -> list[Rule]:
    try:
        return [Rule(**said) for said in json.loads(file.read_text("utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        log.warning("%s cannot be read and is begun anew: %s", file, error)
        return []
