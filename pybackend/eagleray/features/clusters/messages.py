"""Wire types of the feature `clusters`, the single source of `extension/features/clusters/messages.ts`."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

LIST = "eagleray/clusters/list"  # {} -> Clusters
ADD = "eagleray/clusters/add"  # AddCluster -> Cluster
REMOVE = "eagleray/clusters/remove"  # ClusterRef -> {}
SET_TOKEN = "eagleray/clusters/setToken"  # SetToken -> Cluster
REFRESH = "eagleray/clusters/refresh"  # {} -> Clusters
ID_OF = "eagleray/clusters/idOf"  # ClusterRef (as a person wrote it) -> ClusterRef
CHANGED = "eagleray/clusters/changed"  # notification to the editor: Clusters


@frozen
class Problem:
    """Something that stands in the way of a cluster, with what to do about it."""

    code: str
    message: str
    next_step: str


@frozen
class Cluster:
    """A Ray cluster as the panel shows it.

    `id` is the address of its dashboard, normalised (`http://host:port`).  `sentence` says what we
    see ("Ray 2.60.0, 6 workers, none paused").  `session` is Ray's session name, or "" before the
    first answer; all that we remember of a cluster is keyed by it.
    """

    id: str
    name: str
    origin: Literal["own", "added"]
    state: Literal["connecting", "connected", "unreachable", "unauthorized", "not-ray", "failing"]
    session: str
    ray_version: str
    sentence: str
    problems: list[Problem]


@frozen
class Clusters:
    """All known clusters; `hints` say why there is none, or what was seen and left alone."""

    clusters: list[Cluster]
    hints: list[Problem]


@frozen
class AddCluster:
    """`address`: `8265`, `host:8265`, `http(s)://…`; `token` only if the person typed one in."""

    address: str
    token: str | None = None


@frozen
class ClusterRef:
    """A cluster by its id."""

    cluster: str


@frozen
class SetToken:
    """A token that the person typed in; the editor keeps it (SecretStorage), the sidecar only in memory."""

    cluster: str
    token: str
