"""The panel's requests about clusters: wire types in, wire types out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from eagleray.features.clusters import messages as wire
from eagleray.features.clusters.clusters import Clusters
from eagleray.features.clusters.known import AllKnown, Known
from eagleray.features.clusters.problems import Problem

if TYPE_CHECKING:
    from eagleray.sidecar.parts import Parts
    from eagleray.sidecar.requests import Requests


def register(server: Requests, parts: Parts) -> None:
    handlers = Handlers(parts.clusters)
    server.answer_plain(wire.LIST, handlers.list)
    server.answer(wire.ADD, wire.AddCluster, handlers.add)
    server.answer(wire.REMOVE, wire.ClusterRef, handlers.remove)
    server.answer(wire.SET_TOKEN, wire.SetToken, handlers.set_token)
    server.answer_plain(wire.REFRESH, handlers.refresh)
    server.answer(wire.ID_OF, wire.ClusterRef, handlers.id_of)
    parts.clusters.on_change(
        lambda: server.notify(wire.CHANGED, _all(parts.clusters.known())),
    )
    server.in_background("clusters", parts.clusters.run)


class Handlers:
    """One method per request."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters

    async def list(self) -> wire.Clusters:
        return _all(self._clusters.known())

    async def refresh(self) -> wire.Clusters:
        return _all(await self._clusters.refresh())

    async def add(self, asked: wire.AddCluster) -> wire.Cluster:
        return _cluster(await self._clusters.add(asked.address, asked.token))

    async def remove(self, asked: wire.ClusterRef) -> None:
        await self._clusters.remove(asked.cluster)

    async def id_of(self, written: wire.ClusterRef) -> wire.ClusterRef:
        return wire.ClusterRef(await self._clusters.id_of(written.cluster))

    async def set_token(self, said: wire.SetToken) -> wire.Cluster:
        return _cluster(await self._clusters.set_token(said.cluster, said.token))


def _all(known: AllKnown) -> wire.Clusters:
    clusters = [_cluster(one) for one in known.clusters]
    return wire.Clusters(clusters, _problems(known.hints), jobs=[], hosts=[])


def _cluster(known: Known) -> wire.Cluster:
    return wire.Cluster(
        id=known.id,
        name=known.name,
        origin=known.origin,
        state=known.state,
        session=known.session,
        ray_version=known.ray_version,
        sentence=known.sentence,
        problems=_problems(known.problems),
        route=None,
        job="",
        host="",
        time_left_s=None,
        time_warning="",
    )


def _problems(problems: Iterable[Problem]) -> list[wire.Problem]:
    return [wire.Problem(one.code, one.message, one.next_step) for one in problems]
