"""Records of inspections."""

from __future__ import annotations

from attrs import frozen


@frozen
class InspectionTarget:
    """A process: of a node of `cluster`, or of this machine if that is "".

    `node_id` may also be the name or address of the node.  `worker_id` is the worker's, "" if unknown.  `pausable`: a
    debugger of ours can really stop it.
    """

    pid: int
    cluster: str = ""
    node_id: str = ""
    worker_id: str = ""
    name: str = ""
    pausable: bool = False


@frozen
class OpenedInspection:
    """A socket that shows the process as a paused debug session to one DAP client.

    `how` is "inside" or "py-spy", and `why_outside` the reason for the latter.
    """

    socket: str
    name: str
    how: str
    why_outside: str
