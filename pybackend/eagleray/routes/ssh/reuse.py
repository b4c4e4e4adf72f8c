"""A live ControlMaster of the person's, which has been through the second factor already."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.routes import commands
from eagleray.routes.ssh import mux

log = logging.getLogger(__name__)

# `ssh -G` runs what `Match exec` names, and may ask a name server.
_CONFIGURATION_S = 5.0
_CHECK_S = 2.0


async def live_master(ssh: str, destination: str) -> Path | None:
    """The control socket of a master that the person has running for `destination`, if there is one."""
    try:
        ended = await commands.run([ssh, "-G", "--", destination], b"", _CONFIGURATION_S)
        path = _control_path(ended.stdout.decode(errors="replace"))
        if path is None or not path.is_socket():
            return None
        pid = await asyncio.wait_for(mux.check(path), _CHECK_S)
    except (EaglerayError, OSError, mux.MuxError, asyncio.TimeoutError) as error:
        log.info("no ControlMaster for %s: %r", destination, error)
        return None
    log.info("the ControlMaster %d of the person leads to %s", pid, destination)
    return path


def _control_path(configuration: str) -> Path | None:
    for line in configuration.splitlines():
        word, _, value = line.partition(" ")
        if word == "controlpath" and value not in ("", "none"):
            return Path(value)
    return None
