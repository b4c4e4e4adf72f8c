"""Delivers the injected code and a folder for reports to a login node, whose nodes see both."""

from __future__ import annotations

import base64
import logging
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.features.runs.errors import not_delivered
from eagleray.features.runs.model import RunPlan
from eagleray.features.runs.remote_files import RemoteFiles, RemotePath
from eagleray.remote_scripts import package_copies
from eagleray.tools.code_copies import Package, zip_package
from eagleray.tools.commands import Commands

# Read at once: an update of the extension removes this folder while a supervisor lives.
_SCRIPT = Path(package_copies.__file__).read_text("utf-8")
DELIVER_S = 60.0
# In the folder of the submission, which is the job's own; homes are small, and profiles are not.
REPORTS = ".eagleray-reports"

log = logging.getLogger(__name__)


def login_of(plan: RunPlan) -> str:
    """The host on which a script is given to SLURM, "" for this machine and for all other runs."""
    cluster = plan.cluster if plan.kind == "sbatch" else ""
    return cluster.removeprefix("ssh://").partition("/")[0]


def remote_reports_folder(run: str, plan: RunPlan) -> RemotePath | None:
    """Where reports of a run lie that is submitted elsewhere; None for all others."""
    ssh = login_of(plan)
    if not ssh or plan.profile is None:
        return None
    return RemotePath(ssh, f"{plan.cwd.rstrip('/')}/{REPORTS}/{run}")


async def make_remote_reports_folder(commands: Commands, run: str, plan: RunPlan) -> str:
    """That folder, which is there now; "" where there is none: then reports go to Ray's logs."""
    remote = remote_reports_folder(run, plan)
    if remote is None:
        return ""
    try:
        await RemoteFiles(commands, remote.ssh, remote.folder).make()
    except EaglerayError as error:
        log.warning("%s", error)
        return ""
    return remote.folder


async def delivered_to(commands: Commands, ssh: str, of: Package, needed_since: float) -> str:
    """The folder on that host which holds the package now; raises `not-delivered`.

    Copies there that no run has begun to use since then are removed.
    """
    archive = base64.b64encode(zip_package(of)[1]).decode("ascii")
    command = ["python3", "-I", "-c", _SCRIPT, of.name, str(needed_since)]
    ran = await commands.run(ssh, command, archive, DELIVER_S)
    for line in ran.stdout.splitlines():
        if ran.code == 0 and line.startswith(package_copies.DELIVERED):
            return line.removeprefix(package_copies.DELIVERED)
    raise not_delivered(ssh, ran.stderr)
