"""A SLURM site with one job. Its scripts run on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eagleray.common.errors import EaglerayError
from eagleray.doctor.doctor import Doctor
from eagleray.doctor.logs.slurm_output import SlurmLogs
from eagleray.doctor.model import Diagnosis, DiagnosisTarget
from eagleray.doctor.node_checks import NodeFacts
from eagleray.protocol.adapter_control import CommandOutput


class FakeSite:
    """A job that writes to `output`, on this machine and on the nodes `silent`, which don't answer.

    Scripts run on this machine, with the temporary folder `tmp`.  Without `login_sees_files`, the login node can't read `output`.
    """

    def __init__(
        self,
        output: str,
        state: str = "RUNNING",
        login_sees_files: bool = True,
        tmp: str = "/no",
        silent: Sequence[str] = (),
    ) -> None:
        self._job = (
            f"JobId=12 JobState={state} RunTime=00:10:00 NodeList=n[1-2] WorkDir=/ "
            f"StdErr={output} StdOut={output}"
        )
        self._login_sees_files = login_sees_files
        self._environ = {**os.environ, "RAY_TMPDIR": tmp, "TMPDIR": tmp}
        self._nodes = [socket.gethostname(), *silent]
        self.commands: list[list[str]] = []
        self.steps: list[str] = []

    async def nodes(self, ssh: str, nodelist: str) -> list[str]:
        return self._nodes

    async def run(self, ssh: str, argv: Sequence[str], stdin: str, limit_s: float) -> CommandOutput:
        self.commands.append(list(argv))
        if "show" in argv:
            known = argv[-1] == "12"
            text = f"{self._job}\n" if known else ""
            return CommandOutput(
                0 if known else 1, text, "" if known else "Invalid job id specified"
            )
        if "batch_script" in argv:
            return CommandOutput(1, "", "no script")
        arguments = list(argv[argv.index("python3") + 1 :])
        if not self._login_sees_files and "srun" not in argv:
            arguments = arguments[:-1]
        ran = subprocess.run(
            [sys.executable, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=self._environ,
        )
        return CommandOutput(ran.returncode, ran.stdout, ran.stderr)


class NoNodes:
    """Checks of nodes: two that are fine, or `error`."""

    def __init__(self, error: EaglerayError | None = None) -> None:
        self._error = error

    async def of_slurm_job(self, written: str) -> NodeFacts:
        if self._error:
            raise self._error
        return NodeFacts(())


async def diagnosed(site: FakeSite, copies: Path, job: str, nodes: NoNodes) -> Diagnosis:
    nothing: Any = None
    fake: Any = site
    checks: Any = nodes
    logs = SlurmLogs(fake, fake, copies)
    target = DiagnosisTarget(slurm_job=job)
    doctor = Doctor(nothing, nothing, checks, logs, copies)
    return await doctor.diagnose(target, lambda text, _percent: site.steps.append(text))
