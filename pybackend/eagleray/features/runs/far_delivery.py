"""Delivery of our code to a login node, whose home the nodes of a job see."""

from __future__ import annotations

import base64

from eagleray.clients.commands import Commands
from eagleray.clients.in_cluster_package import Package, zipped
from eagleray.common.run_errors import not_delivered

# The name of the package is a word of ours; the text of the archive comes in by standard input.
_UNPACK = """
import base64, io, os, shutil, sys, tempfile, zipfile
name = sys.argv[1]
folder = os.path.join(os.environ.get("EAGLERAY_HOME") or os.path.expanduser("~/.local/share/eagleray"), "in_cluster")
os.makedirs(folder, exist_ok=True)
if not os.path.isdir(os.path.join(folder, name)):
    made = tempfile.mkdtemp(prefix=".new-", dir=folder)
    archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(sys.stdin.read())))
    archive.extractall(made)
    os.chmod(os.path.join(made, name), 0o755)
    try:
        os.rename(os.path.join(made, name), os.path.join(folder, name))
    except OSError:
        pass
    shutil.rmtree(made, ignore_errors=True)
print("eagleray-delivered:" + folder)
"""
_MARK = "eagleray-delivered:"
DELIVER_S = 60.0


async def delivered_to(commands: Commands, ssh: str, of: Package) -> str:
    """The folder on that host which holds the package now; raises `not-delivered`."""
    archive = base64.b64encode(zipped(of)[1]).decode("ascii")
    ran = await commands.run(ssh, ["python3", "-I", "-c", _UNPACK, of.name], archive, DELIVER_S)
    for line in ran.stdout.splitlines():
        if ran.code == 0 and line.startswith(_MARK):
            return line.removeprefix(_MARK)
    raise not_delivered(ssh, ran.stderr)
