"""The folders of Eagleray's state and sockets.

State is in the home, which many login nodes may share.  Sockets are in the run folder, which belongs to this machine
and this user alone, since access to it means access to the debuggers.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import tempfile
from pathlib import Path

from eagleray import __version__
from eagleray.common.atomic_file import alone, replace_text
from eagleray.common.errors import (
    FOLDER_NOT_MADE,
    EaglerayError,
    folder_not_made,
    unsafe_folder,
)
from eagleray.common.file_checks import mount_of, parse_table, read_table
from eagleray.common.l10n import t

_TMP = Path("/tmp")  # noqa: S108 (its entries are checked)

# The longest path that the kernel takes for a Unix socket (sun_path without its final zero, man 7 unix).
LONGEST_SOCKET_PATH = 107

NETWORK_FILE_SYSTEMS = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "afs", "9p", "fuse.sshfs",
    "panfs", "wekafs",
})  # fmt: skip


def home() -> Path:
    """Returns the folder of our state, EAGLERAY_HOME or ~/.local/share/eagleray; creates it if it is missing.

    Where it can't be created, what reads finds nothing in it, and only what has to write raises an error.
    """
    configured = os.environ.get("EAGLERAY_HOME")
    folder = Path(configured) if configured else Path.home() / ".local/share/eagleray"
    folder = folder.expanduser().absolute()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def adapter_log() -> Path:
    """Returns the log of this machine's adapters, of all versions."""
    return home() / f"adapter-{host_name()}.log"


def held_folder() -> Path:
    """Returns the folder of the records of held workers, by the adapters of all machines with this home.

    The first adapter that writes one creates it.
    """
    return home() / "held"


def runs() -> Path:
    """Returns the folder with a folder for each run; private, since it has the output of the runs.

    It is missing where it can't be created.
    """
    return _private_if_possible(home() / "runs")


def reports() -> Path:
    """Returns the folder of data read from reports that can't be stored beside them; it may be missing, as the folder
    of runs may.
    """
    return _private_if_possible(home() / "reports")


def injected() -> Path:
    """Returns the folder of the code that runs inside the programs of runs; their nodes may share this home."""
    folder = home() / "injected"
    _check_configured_home()
    folder.mkdir(mode=0o755, exist_ok=True)
    return folder


def run_folder() -> Path:
    """Returns the folder of our sockets; creates it if it is missing, and checks it every time.

    1. EAGLERAY_HOME is set: `$EAGLERAY_HOME/run/<host>`, whatever its file system, since the user chose it.
    2. XDG_RUNTIME_DIR is a private local folder of this user: `eagleray` in it.
    3. Otherwise `/tmp/eagleray-<uid>`, or a folder with a random name where another user has taken that one.
    """
    if os.environ.get("EAGLERAY_HOME"):
        _check_configured_home()
        private_folder(home() / "run")
        return private_folder(home() / "run" / host_name())
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and _is_private(Path(runtime)) and not is_network_folder(Path(runtime)):
        return private_folder(Path(runtime) / "eagleray")
    return folder_in_tmp()


def folder_in_tmp() -> Path:
    """Returns the folder of our sockets below /tmp, where any user can create a folder with any name first.

    1. The folder that the home names for this machine, while it is still private: processes that share a
       home must use the same one, even if the usual name has become free again.
    2. `/tmp/eagleray-<uid>`, even if it is rejected for its mode, which its owner can change.
    3. A new folder with a random name, which the home names afterwards.
    """
    record = home() / f"run-folder-{host_name()}"
    named = _named_by(record)
    if named is not None:
        return named
    usual = _TMP / f"eagleray-{os.getuid()}"
    try:
        return private_folder(usual)
    except EaglerayError:
        if not _is_of_another_user(usual):
            raise
    return _new_named_by(record)


def _is_of_another_user(path: Path) -> bool:
    try:
        return path.lstat().st_uid != os.getuid()
    except OSError:
        return False


def _named_by(record: Path) -> Path | None:
    try:
        folder = Path(record.read_text())
    except (OSError, ValueError):
        return None
    return folder if folder.parent == _TMP and _is_private(folder) else None


def _new_named_by(record: Path) -> Path:
    """Creates the folder and writes its path into `record`; only one of several processes does."""
    with alone(record):
        named = _named_by(record)
        if named is None:
            named = Path(tempfile.mkdtemp(prefix=f"eagleray-{os.getuid()}-", dir=_TMP))
            replace_text(record, str(named))
        return named


def adapter_socket(version: str = __version__) -> Path:
    """Returns the control socket of the adapter of that version."""
    return run_folder() / f"adapter-{version}.sock"


def adapter_sockets() -> dict[str, Path]:
    """Returns the control sockets in the run folder by version; some may be stale."""
    paths = run_folder().glob("adapter-*.sock")
    return {
        path.name.removeprefix("adapter-").removesuffix(".sock"): path for path in sorted(paths)
    }


def private_folder(path: Path) -> Path:
    """Returns `path`, a folder that only this user can enter: creates it with 0700, or raises `unsafe-folder`."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
    except FileExistsError as error:
        raise unsafe_folder(str(path), t("it is not a folder")) from error
    except OSError as error:
        raise folder_not_made(str(path), error.strerror or "") from error
    if why := why_unsafe(status) or ("other users can enter it" if status.st_mode & 0o077 else ""):
        raise unsafe_folder(str(path), why)
    return path


def _private_if_possible(path: Path) -> Path:
    try:
        _check_configured_home()
        return private_folder(path)
    except EaglerayError as error:
        if error.code != FOLDER_NOT_MADE:
            raise
        return path


def why_unsafe(status: os.stat_result) -> str:
    """Returns why a folder, by its `lstat`, could be changed by other users; "" if it couldn't."""
    if stat.S_ISLNK(status.st_mode):
        return "it is a symbolic link"
    if not stat.S_ISDIR(status.st_mode):
        return t("it is not a folder")
    if status.st_uid != os.getuid():
        return t("it belongs to another user")
    return t("other users can write in it") if status.st_mode & 0o022 else ""


def is_network_folder(path: Path, mounts: str | None = None) -> bool:
    """Whether `path` is on a network file system, by the text of /proc/self/mounts."""
    table = parse_table(read_table() if mounts is None else mounts)
    return mount_of(str(path), table).type in NETWORK_FILE_SYSTEMS


def _is_private(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    )


def _check_configured_home() -> None:
    """Raises `unsafe-folder` if others can change what is in the folder that EAGLERAY_HOME names, links followed."""
    if not os.environ.get("EAGLERAY_HOME"):
        return
    path = home()
    try:
        status = path.stat()
    except OSError as error:
        raise folder_not_made(str(path), error.strerror or "") from error
    if status.st_uid != os.getuid():
        raise unsafe_folder(str(path), t("it belongs to another user"))
    if status.st_mode & 0o022:
        raise unsafe_folder(str(path), t("other users can write in it"))


def host_name() -> str:
    """Returns the name of this machine in characters that are valid in file names."""
    name = socket.gethostname()
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in name)[:40].lstrip(".") or "host"
