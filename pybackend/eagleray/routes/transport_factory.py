"""Which carrier carries a route."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes.srun.transport import SrunTransport
from eagleray.routes.ssh.askpass import AskUserFor
from eagleray.routes.ssh.command import OF_PERSON, SshOptions
from eagleray.routes.ssh.transport import SshTransport
from eagleray.routes.transport import Transport


class TransportFactory:
    """Makes the carriers of one process."""

    def __init__(self, folder: Path, ask_for: AskUserFor) -> None:
        self._options = SshOptions(os.environ.get("EAGLERAY_SSH") or "ssh")
        self._folder = folder
        self._ask_for = ask_for

    def __call__(
        self, spec: RouteSpec, changed: Callable[[], None], beneath: Transport
    ) -> Transport:
        """What carries `spec`; it calls `changed` after every change of its health."""
        if spec.job:
            return SrunTransport(spec, changed, beneath)
        return SshTransport(spec.ssh, self._folder, self._ask_for(spec.ssh), changed, self.ssh)

    def ssh(self) -> SshOptions:
        """The settings as they are now."""
        return self._options

    def set_ssh(self, program: str, reuse: bool | None, environment: Mapping[str, object]) -> None:
        """The person's settings, for connections that are made from now on; what was not said stays."""
        before = self._options
        of_person = {name: str(environment[name]) for name in OF_PERSON if environment.get(name)}
        self._options = SshOptions(
            program or before.program,
            before.reuse if reuse is None else reuse,
            {**before.environment, **of_person},
        )
