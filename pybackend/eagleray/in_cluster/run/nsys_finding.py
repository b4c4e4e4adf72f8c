"""Where nsys is on this node, which is often not on the path of Ray's processes."""

from __future__ import annotations

import glob
import os
import re
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Where NVIDIA's installers, images and Debian put it.
PLACES = (
    "/usr/local/cuda/bin/nsys",
    "/usr/local/cuda-*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems-cli/*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-*/nsys",
    "/opt/nvidia/hpc_sdk/*/*/profilers/Nsight_Systems/bin/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
)


def found(said: str, environ: Mapping[str, str], root: str = "") -> str:
    """The program, "" if there is none: what was said (a path, or a name on the path), or else in this order:

    1. on the path; 2. of CUDA_HOME; 3. where installers put it, the newest version first.
    """
    candidates = [said] if said else _known(environ, root)
    for candidate in candidates:
        program = shutil.which(os.path.expanduser(candidate), path=environ.get("PATH"))
        if program:
            return program
    return ""


def _known(environ: Mapping[str, str], root: str) -> Iterator[str]:
    yield "nsys"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(variable):
            yield f"{environ[variable]}/bin/nsys"
    for place in PLACES:
        yield from sorted(glob.glob(root + place), key=_version, reverse=True)


def _version(path: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path)]
