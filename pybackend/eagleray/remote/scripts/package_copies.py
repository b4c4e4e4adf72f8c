"""Copies of our code and of debugpy in a folder that nodes import from: delivered, marked as used, removed when unused.

Imported on this machine, and sent as text to the `python3` of a login node, so it needs only Python 3.6.  There its
arguments are `NAME NEEDED_SINCE`, and its input is the zip of the package; it prints the folder.

The time of a copy's folder is when a run last began to use it.  Several processes deliver and remove at once, on several
machines with one home.  So nothing here relies on locks: a copy appears and disappears by a rename.
"""

import base64
import contextlib
import errno
import io
import os
import shutil
import stat
import sys
import tempfile
import time
import zipfile
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DELIVERED = "eagleray-delivered:"
CODE = "code-"
COPIES = ("_eagleray_run_", "debugpy", CODE)
_NEW, _OLD = ".new-", ".old-"
# A delivery that is older was killed.
_UNFINISHED_S = 24 * 3600.0


def deliver(folder: Path, name: str, fill: "Callable[[Path], None]") -> Path:
    """The copy `name` in `folder`, which counts as used now; `fill` writes it unless it is there.

    It appears atomically, since other processes may import it at once.  Raises OSError if the folder can't be written.
    """
    copy = folder / name
    if _use(copy):
        return copy
    made = Path(tempfile.mkdtemp(prefix=_NEW, dir=str(folder)))
    try:
        fill(made)
        made.chmod(0o755)
        while not _is_placed(made, copy):
            pass
    finally:
        shutil.rmtree(str(made), ignore_errors=True)
    return copy


def _is_placed(made: Path, copy: Path) -> bool:
    """Renames a copy into place; False if another process was faster and its copy is gone again.  Raises OSError."""
    try:
        made.rename(copy)
    except OSError as error:
        if _use(copy):
            return True
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def remove_unused(folder: Path, needed_since: float) -> None:
    """Removes the copies that no run has started to use since then, and the remains of killed processes."""
    limits = {_NEW: time.time() - _UNFINISHED_S, _OLD: time.time() - _UNFINISHED_S}
    limits.update(dict.fromkeys(COPIES, needed_since))
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            limit = next((limits[start] for start in limits if path.name.startswith(start)), None)
            if limit is not None:
                with contextlib.suppress(OSError):
                    _remove(path, limit)


def _use(copy: Path) -> bool:
    # The time is set before the check, so that a copy which is being removed now either stays or is missing.
    with contextlib.suppress(OSError):
        os.utime(str(copy))
    return copy.is_dir()


def _remove(path: Path, limit: float) -> None:
    status = path.lstat()
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_ours or status.st_mtime >= limit:
        return
    aside = Path(tempfile.mkdtemp(prefix=_OLD, dir=str(path.parent)))
    path.rename(aside)
    if aside.lstat().st_mtime >= limit:
        # A run has started to use it since its time was read.
        with contextlib.suppress(OSError):
            aside.rename(path)
            return
    shutil.rmtree(str(aside), ignore_errors=True)


def main(name: str, needed_since: str) -> None:
    home = os.environ.get("EAGLERAY_HOME")
    folder = (Path(home) if home else Path.home() / ".local/share/eagleray") / "injected"
    folder.mkdir(parents=True, exist_ok=True)
    archive = base64.b64decode(sys.stdin.read())
    deliver(folder, name, lambda made: _unpack(archive, name, made))
    remove_unused(folder, float(needed_since))
    sys.stdout.write(f"{DELIVERED}{folder}\n")


def _unpack(archive: bytes, name: str, into: Path) -> None:
    """Unpacks the package; the zip also contains files beside it, which Ray needs."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        for member in opened.namelist():
            if member.startswith(name + "/"):
                path = into.joinpath(*member.split("/")[1:])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(opened.read(member))


if __name__ == "__main__":
    main(*sys.argv[1:])
