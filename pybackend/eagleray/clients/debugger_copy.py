"""A copy of debugpy for programs whose environment has none: found by its folder alone, installed nowhere."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from pathlib import Path

from eagleray.common.paths import in_cluster

# That of an installed extension, which is on no path of ours.
PACKAGED = Path(__file__).resolve().parents[3] / "_libs" / "debugpy"
# Half of it is for Windows, or what was compiled.
UNUSED = ("*.pdb", "*.dll", "*.exe", "*.pyd", "*.c", "*.pyx")


def debugger_copy(into: Path | None = None, packaged: Path = PACKAGED) -> str:
    """A folder with nothing but debugpy in it, beside the code of runs, since nodes see that; "" if we have none."""
    source = _source(packaged)
    if source is None:
        return ""
    folder = into or in_cluster()
    version = next((one.name for one in source.parent.glob("debugpy-*.dist-info")), "debugpy")
    copy = folder / version.removesuffix(".dist-info")
    if not copy.is_dir():
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
        try:
            ignored = shutil.ignore_patterns("__pycache__", *UNUSED)
            shutil.copytree(source, made / "debugpy", ignore=ignored)
            made.chmod(0o755)
            made.rename(copy)
        except OSError:
            # Somebody else was faster, or there is no room, without which the run is as it would be.
            if not copy.is_dir():
                return ""
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return str(copy)


def _source(packaged: Path) -> Path | None:
    if (packaged / "debugpy").is_dir():
        return packaged / "debugpy"
    found = importlib.util.find_spec("debugpy")
    return Path(found.origin).parent if found is not None and found.origin else None
