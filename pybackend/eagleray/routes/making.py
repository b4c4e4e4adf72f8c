"""Which carrier carries a route."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from eagleray.routes.asking import AskFor
from eagleray.routes.carried import Carrier
from eagleray.routes.over_ssh import OverSsh
from eagleray.routes.spec import RouteSpec
from eagleray.routes.srun import OverSrun
from eagleray.routes.ssh_master import SshOptions


class Making:
    """Makes the carriers of one process.  `options` may be set at any time, for those made later."""

    def __init__(self, folder: Path, ask_for: AskFor) -> None:
        self.options = SshOptions(program=os.environ.get("EAGLERAY_SSH") or "ssh")
        self._folder = folder
        self._ask_for = ask_for

    def __call__(self, spec: RouteSpec, changed: Callable[[], None], beneath: Carrier) -> Carrier:
        """What carries `spec`; it calls `changed` after every change of its health."""
        if spec.job:
            return OverSrun(spec, changed, beneath)
        return OverSsh(spec.ssh, self._folder, self._ask_for(spec.ssh), changed, self.options)
