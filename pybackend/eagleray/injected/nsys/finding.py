"""Where nsys is on a machine: it is often not on the path of Ray's processes, nor on that of an editor."""

from __future__ import annotations

import glob
import os
import shutil

from .versions import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Where NVIDIA's installers, images and Debian put it.
PLACES = (
    "/usr/local/cuda/bin/nsys",
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems-cli/*/bin/nsys",
    "/usr/local/cuda-*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-*/nsys",
    "/opt/nvidia/hpc_sdk/*/*/profilers/Nsight_Systems/bin/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
)


def find_nsys(said: str, environ: Mapping[str, str], root: str = "") -> str:
    """The program, "" if there is none: what was said (a path, or a name on the path), or else in this order:

    1. on the path, whose folders that are not absolute are left out: they lead into somebody's code; 2. of CUDA_HOME;
    3. where installers put it, of each the newest version first.
    """
    candidates = [said] if said else _known(environ, root)
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
    for candidate in candidates:
        program = shutil.which(os.path.expanduser(candidate), path=path)
        if program:
            return program
    return ""


def _known(environ: Mapping[str, str], root: str) -> Iterator[str]:
    yield "nsys"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        home = os.path.expanduser(environ.get(variable, ""))
        if os.path.isabs(home):
            yield f"{home}/bin/nsys"
    for place in PLACES:
        yield from sorted(glob.glob(glob.escape(root) + place), key=numbers, reverse=True)
