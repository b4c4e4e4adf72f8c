"""The parts that the panel's handlers and the command line share, built once per process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

from attrs import frozen

from eagleray.clients.adapter import Adapters
from eagleray.clients.cluster_watch import ClusterWatch
from eagleray.common.clock import Clock, SystemClock
from eagleray.common.paths import home
from eagleray.features.clusters.clusters import Clusters
from eagleray.features.debugging.debugging import Debugging
from eagleray.features.debugging.needs import Target
from eagleray.features.debugging.reminding import LONG_S
from eagleray.features.source_mapping.source_mapping import SourceMapping
from eagleray.features.workers.paused_workers import PausedWorkers
from eagleray.features.workers.rows import everyone


@frozen
class Settings:
    """What the editor (initializationOptions) or the environment says; EAGLERAY_DISCOVERY wins.

    `discovery` "off": only clusters that were added or named.  `remind_s`: how long a worker may be held
    before that is said; EAGLERAY_REMIND_S shortens it for tests.
    """

    discovery: Literal["own", "off"] = "own"
    remind_s: float = LONG_S

    @staticmethod
    def read(options: dict[str, Any], environ: dict[str, str]) -> Settings:
        said = environ.get("EAGLERAY_DISCOVERY") or options.get("discovery")
        remind_s = environ.get("EAGLERAY_REMIND_S", "")
        return Settings(
            "off" if said == "off" else "own", float(remind_s) if remind_s.isdecimal() else LONG_S
        )


@frozen
class Parts:
    """Every core object.  A feature's `register(server, parts)` takes from here what it needs.

    What one feature needs of another is given to its constructor by `build`, so that features do not
    import one another.
    """

    settings: Settings
    adapters: Adapters
    watch: ClusterWatch
    clusters: Clusters
    workers: PausedWorkers
    debugging: Debugging
    source_mapping: SourceMapping

    async def close(self) -> None:
        """Ends every connection; workers that are held stay held."""
        await self.workers.close()
        await self.clusters.close()
        await self.watch.close()
        await self.adapters.close()


def build(settings: Settings, clock: Clock | None = None) -> Parts:
    """All parts, not yet asking anything; call it on the event loop that will use them."""
    clock = clock or SystemClock()
    adapters = Adapters()
    watch = ClusterWatch()
    source_mapping = SourceMapping(adapters, home())
    workers = PausedWorkers(watch, adapters, clock=clock, to_local=source_mapping.local)

    clusters = Clusters(watch, dict(os.environ), settings.discovery)

    async def id_of(cluster: str) -> str:
        # A worker can be held of a cluster that nobody watches any more.
        held = any(state.cluster == cluster for state in adapters.known())
        return cluster if held else await clusters.id_of(cluster)

    async def find(cluster: str, worker: str) -> Target:
        return await workers.find(await id_of(cluster), worker)

    async def targets(cluster: str) -> Sequence[Target]:
        return everyone(await workers.refresh([await id_of(cluster)]))

    def listen(update: Callable[[Sequence[Target]], None]) -> Callable[[], None]:
        return workers.on_change(lambda: update(workers.looked_at()))

    return Parts(
        settings=settings,
        adapters=adapters,
        watch=watch,
        clusters=clusters,
        workers=workers,
        debugging=Debugging(
            adapters=adapters,
            find=find,
            targets=targets,
            listen=listen,
            maps=source_mapping,
            clock=clock,
            ignored_file=home() / "ignored_breakpoints.json",
            remind_s=settings.remind_s,
        ),
        source_mapping=source_mapping,
    )
