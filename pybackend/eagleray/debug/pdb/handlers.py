"""Handles the panel's requests about Ray's own pdb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagleray.clusters.model import Terminal
from eagleray.common.l10n import later, translated
from eagleray.debug.pdb import messages as wire
from eagleray.debug.pdb.pdb import Pdb
from eagleray.tools.code_copies import self_command

if TYPE_CHECKING:
    from eagleray.wire.requests import RequestServer

NONE = later(
    "No worker waits in Ray's own pdb. It opens with RAY_DEBUG=legacy,"
    " and before Ray 2.39 without RAY_DEBUG."
)


def register(server: RequestServer, pdb: Pdb, ssh: str) -> None:
    """Answers the requests of this feature; `ssh` is the ssh program of the editor's settings."""

    async def sessions(params: wire.PdbOf) -> wire.PdbSessions:
        waiting = await pdb.waiting(params.cluster)
        return wire.PdbSessions(tuple(waiting), "" if waiting else translated(NONE))

    async def terminal(params: wire.PdbRef) -> Terminal:
        session = await pdb.named(params.cluster, params.id)
        argv = self_command("cli", "pdb", "--at", pdb.target(session).text())
        # The command is another process, which knows nothing of the editor's settings.
        env = {"EAGLERAY_SSH": ssh} if ssh else {}
        return Terminal(session.name, tuple(argv), env)

    server.on_request(wire.LIST, sessions)
    server.on_request(wire.TERMINAL, terminal)
