"""The requests of the feature `source_mapping` and their records, printed as `extension/debug/source_mapping/messages.ts`."""

from __future__ import annotations

from types import NoneType
from typing import Literal

from attrs import frozen

from eagleray.debug.source_mapping.model import FileText
from eagleray.protocol.adapter_control import PathMapping
from eagleray.wire.requests import Request


@frozen
class Mappings:
    """The mappings of one cluster, in the order in which they are tried."""

    cluster: str
    mappings: list[PathMapping]


@frozen
class Configure:
    """The user's own mappings (setting `eagleray.pathMappings`): cluster id, or "*" for every cluster."""

    mappings: dict[str, list[PathMapping]]


@frozen
class ClusterOf:
    """A cluster by its id."""

    cluster: str


@frozen
class Resolve:
    """Resolves the local file of the location at which an attached worker stopped."""

    cluster: str
    worker_id: str
    path: str
    workspace_folders: list[str]


@frozen
class Resolution:
    """The local file of a worker's file, and the rule that decided.

    `how` is the rule: "setting", "mounts", "same-path", "working-dir", "suffix", or "none".
    "ask" means that several local files fit or none does: put the one question to the user, whose
    answer is a SetFolder.  "none": there is nothing to ask; `local` is "" (show the worker's own file) or Ray's
    copy of an uploaded package on this machine.  `candidates` are local files that fit.
    """

    how: Literal["same-path", "setting", "mounts", "working-dir", "suffix", "ask", "none"]
    local: str
    candidates: list[str]


@frozen
class SetFolder:
    """The user's answer: the folder `remote` of the worker is `local`; applied to attached workers at once.

    `remote` may be a file (….py): then `local` is that file or a folder that holds it at any depth, and the
    folders that correspond are worked out.
    """

    cluster: str
    remote: str
    local: str


@frozen
class WorkerFile:
    """A file of an attached worker, by the path that the worker uses; `local` the file that it is taken for."""

    cluster: str
    worker_id: str
    path: str
    local: str


@frozen
class Comparison:
    """The worker's file against the local one, by hash."""

    verdict: Literal["same", "different", "only-worker", "only-local", "unknown"]


RESOLVE = Request("eagleray/sourceMapping/resolve", Resolve, Resolution)
SET_FOLDER = Request("eagleray/sourceMapping/setFolder", SetFolder, Mappings)
MAPPINGS = Request("eagleray/sourceMapping/mappings", ClusterOf, Mappings)
CONFIGURE = Request("eagleray/sourceMapping/configure", Configure, NoneType)
COMPARE = Request("eagleray/sourceMapping/compare", WorkerFile, Comparison)
WORKER_FILE = Request("eagleray/sourceMapping/workerFile", WorkerFile, FileText)
