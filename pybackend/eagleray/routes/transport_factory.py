"""Makes the transport of a route: over ssh, or through srun."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes.srun.transport import SrunTransport
from eagleray.routes.ssh.askpass import AskUserFor
from eagleray.routes.ssh.command import USER_VARIABLES, SshOptions
from eagleray.routes.ssh.transport import SshTransport
from eagleray.routes.transport import Transport


class TransportFactory:
    """Makes the transports of one process."""

    def __init__(self, folder: Path, ask_for: AskUserFor) -> None:
        self._options = SshOptions(os.environ.get("EAGLERAY_SSH") or "ssh")
        self._folder = folder
        self._ask_for = ask_for

    def __call__(self, spec: RouteSpec, changed: Callable[[], None], base: Transport) -> Transport:
        """Returns the transport of `spec`, which calls `changed` after every change of its health."""
        if spec.job:
            return SrunTransport(spec, changed, base)
        return SshTransport(spec.ssh, self._folder, self._ask_for(spec.ssh), changed, self.ssh)

    def ssh(self) -> SshOptions:
        """Returns the current settings."""
        return self._options

    def set_ssh(self, program: str, reuse: bool | None, environment: Mapping[str, object]) -> None:
        """Updates the user's settings for new connections; None and empty values leave a setting as it is."""
        before = self._options
        variables = {
            name: str(environment[name]) for name in USER_VARIABLES if environment.get(name)
        }
        self._options = SshOptions(
            program or before.program,
            before.reuse if reuse is None else reuse,
            {**before.environment, **variables},
        )
