"""Finds nsys on a machine and compares versions of it.

It is often neither on the path of Ray's processes nor on an editor's path.
"""

from __future__ import annotations

import glob
import os
import re
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The folders of NVIDIA's installers and images, and of Debian.
_PATHS = (
    "/usr/local/cuda/bin/nsys",
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems-cli/*/bin/nsys",
    "/usr/local/cuda-*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-*/nsys",
    "/opt/nvidia/hpc_sdk/*/*/profilers/Nsight_Systems/bin/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
)
# Begins the reason why a worker of such a node runs without nsys.
NO_NSYS = "there is no nsys"
# Names `_candidates` for the user.
SEARCHED = "PATH, CUDA_HOME, /opt/nvidia, /usr/local/cuda*"
_VERSION = re.compile(r"version (\d+(?:\.\d+)+)")


def find_nsys(
    wanted: str, environ: Mapping[str, str], root: str = "", *, preferred: str = ""
) -> str:
    """The path of the program, "" if there is none.  `wanted` is a path or a name on the path; if it is "", in this order:

    1. `preferred`, where that exists; 2. on the path, without its relative folders, which lead into the user's code;
    3. below CUDA_HOME; 4. where installers put it, the newest version first.
    """
    candidates = [wanted] if wanted else _candidates(environ, root, preferred)
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
    for candidate in candidates:
        program = shutil.which(os.path.expanduser(candidate), path=path)
        if program:
            return program
    return ""


def _candidates(environ: Mapping[str, str], root: str, preferred: str) -> Iterator[str]:
    if preferred:
        yield preferred
    yield "nsys"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        home = os.path.expanduser(environ.get(variable, ""))
        if os.path.isabs(home):
            yield f"{home}/bin/nsys"
    for pattern in _PATHS:
        yield from sorted(glob.glob(glob.escape(root) + pattern), key=version_numbers, reverse=True)


def parse_version(output: str) -> str:
    """The version in the output of `nsys --version`, such as 2022.4.2.1; "" if it has none."""
    match = _VERSION.search(output)
    return match[1] if match else ""


def is_newer(version: str, than: str) -> bool:
    """Whether nsys of version `than` can't read the reports of `version`; False if one of them is unknown."""
    # The numbers behind the first three name a build.
    return bool(than) and version_numbers(version)[:3] > version_numbers(than)[:3]


def version_numbers(text: str) -> list[int]:
    """The numbers in a version, or in a path that contains one, as a sort key."""
    return [int(number) for number in re.findall(r"\d{1,18}", text)]
