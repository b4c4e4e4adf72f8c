"""Lock files that threads poll, and the processes of this machine that hold them.

A thread that polls sleeps between its attempts, so the kernel doesn't tell for which file.  Its path is in the
variables of a library, or in the variables of its caller; other code keeps the file open, which the process that has
locked it does, too.
"""

from __future__ import annotations

import ast
import os
import re
import stat
import time
from pathlib import Path
from typing import NamedTuple

from ..injected.outside_files import content_of
from . import proc
from .frames import PythonFrame, is_users
from .source_blocks import around, parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

_BY_PATH = re.compile(r"(^|/)(torch/utils/file_baton|filelock/\w+)\.py$")
_BY_OPEN_FILE = re.compile(r"(^|/)(portalocker|fasteners)/\w+\.py$")
# They wait until the file is deleted, which the process that made it has open (torch 2.13, filelock 4.2).
_UNTIL_DELETED = re.compile(r"<(?:[\w.]+\.)?(FileBaton|SoftFileLock) at ")
_MAKES_OR_CHECKS = re.compile(r"\b(O_EXCL|exists|isfile|is_file|FileExistsError)\b")
_TEXT = re.compile(r'"(.*[^.])"', re.DOTALL)
_NAME = re.compile(r"(?<![a-z])(file)?lock", re.IGNORECASE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_CALLERS = 3
_MOST_FILES = 256
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class PolledLock(NamedTuple):
    """The path of a lock file, "" for one that the process has open; `is_until_deleted`: its existence is the lock."""

    path: str = ""
    is_until_deleted: bool = False


class LockFile(NamedTuple):
    """A file by its device and inode, which mount namespaces don't change."""

    name: str
    device: int
    inode: int


class Holders(NamedTuple):
    """The processes that have a file open or have locked it; `is_whole`: the files of all processes were read."""

    open_in: tuple[int, ...]
    locked_by: tuple[int, ...]
    is_whole: bool


def polled_lock(pid: int, frames: Sequence[dict[str, Any]]) -> PolledLock | None:
    """The lock file for which a library of locks waits in `frames` of py-spy, innermost first; None if its path isn't certain."""
    inner = next(
        (at for at, frame in enumerate(frames) if not _BY_PATH.search(str(frame["filename"]))), 0
    )
    if not inner:
        return _own_lock(pid, frames[0]) if frames else None
    own = [variable for frame in frames[:inner] for variable in frame.get("locals") or []]
    is_until_deleted = any(_UNTIL_DELETED.match(str(variable["repr"])) for variable in own)
    for variables in (own, *(each.get("locals") or [] for each in frames[inner:][:_MOST_CALLERS])):
        paths = {
            file: path for each in variables for path, file in _lock_paths(pid, str(each["repr"]))
        }
        if paths:
            path, *others = paths.values()
            return None if others else PolledLock(path, is_until_deleted)
    return None


def _own_lock(pid: int, frame: dict[str, Any]) -> PolledLock | None:
    """The lock file until whose end a loop in `frame`, the innermost one, sleeps; None if its path isn't certain."""
    file, line = str(frame["filename"]), frame["line"]
    if not isinstance(line, int) or not is_users(PythonFrame(str(frame["name"]), file, line)):
        return None
    loop = next((node for node in around(file, line) if isinstance(node, ast.While)), None)
    text = ast.unparse(loop) if loop else ""
    if not loop or "sleep" not in text or not _MAKES_OR_CHECKS.search(text):
        return None
    names = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)}
    module = parsed(file)
    values = [node.value for node in ast.walk(loop) if isinstance(node, ast.Constant)]
    for node in module.body if module else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            assigned = {each.id for each in node.targets if isinstance(each, ast.Name)}
            values += [node.value.value] if assigned & names else []
    texts = [f'"{value}"' for value in values if isinstance(value, str)]
    variables = frame.get("locals") or []
    texts += [str(each["repr"]) for each in variables if each["name"] in names]
    paths = {lock: path for each in texts for path, lock in _lock_paths(pid, each, is_path=True)}
    return PolledLock(next(iter(paths.values())), True) if len(paths) == 1 else None


def _lock_paths(pid: int, text: str, *, is_path: bool = False) -> Iterator[tuple[str, LockFile]]:
    """The files with the name of a lock which the text of a variable, or a folder of this name, leads to."""
    match = _TEXT.fullmatch(text)
    if not match or not match[1].isprintable() or not (is_path or "/" in match[1]):
        return
    path = Path(proc.link(f"/proc/{pid}/cwd"), match[1])
    for each in (path, path / "lock"):
        if _NAME.search(each.name) and (file := lock_file(_of_process(pid, str(each)))):
            yield str(each), file


def _of_process(pid: int, path: str) -> str:
    """The path as this process may use it for a file of `pid`, which may have another root."""
    return f"/proc/{pid}/root{path}"


def polls_open_file(frames: Sequence[PythonFrame]) -> bool:
    """Whether a thread is in a library of locks, or in a function of the user that locks a file itself."""
    if any(_BY_OPEN_FILE.search(frame.file) for frame in frames):
        return True
    place = next((frame for frame in reversed(frames) if is_users(frame)), None)
    nodes = list(around(place.file, place.line)) if place else []
    function = next((node for node in reversed(nodes) if isinstance(node, _FUNCTIONS)), None)
    return function is not None and any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("flock", "lockf")
        for node in ast.walk(function)
    )


def maker_of(pid: int, path: str) -> int:
    """The living process whose number is in the lock file at a path of `pid`, 0 without one."""
    try:
        match = re.match(rb"\s*(\d{1,7})\b", content_of(_of_process(pid, path), 64))
        made = Path(_of_process(pid, path)).stat().st_mtime
    except OSError:
        return 0
    maker = proc.stat(int(match[1])) if match else None
    if not maker or proc.link(f"/proc/{pid}/ns/pid") != proc.link("/proc/self/ns/pid"):
        return 0
    running_s = time.clock_gettime(time.CLOCK_BOOTTIME) - maker.started / _TICKS_PER_S
    # Another process may have got the number of one that has ended.
    return maker.pid if time.time() - made < running_s + 1 and maker.state not in "ZX" else 0


def lock_file(path: str) -> LockFile | None:
    """The regular file at `path`; None if it isn't one."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return LockFile(Path(proc.link(path) or path).name, status.st_dev, status.st_ino)


def files_of(pid: int, polled: PolledLock) -> dict[str, LockFile]:
    """The file that a thread of `pid` polls, or all that the process has open where the path isn't known, by their paths."""
    files: dict[str, LockFile] = {}
    if polled.path:
        file = lock_file(_of_process(pid, polled.path))
        return {polled.path: file} if file else {}
    try:
        for entry in list(os.scandir(f"/proc/{pid}/fd"))[:_MOST_FILES]:
            if (path := proc.link(entry.path)).startswith("/") and (file := lock_file(entry.path)):
                files[path] = file
    except OSError:
        pass
    return files


def holders(wanted: Collection[LockFile]) -> dict[LockFile, Holders]:
    """The processes that hold each of the files."""
    names = {each.name for each in wanted}
    files = proc.OpenFiles()
    open_in: dict[LockFile, list[int]] = {each: [] for each in wanted}
    locked: dict[LockFile, dict[int, int]] = {each: {} for each in wanted}
    for pid, descriptor, path in files:
        if Path(path).name not in names:
            continue
        file = lock_file(f"/proc/{pid}/fd/{descriptor}")
        if file in open_in:
            open_in[file].append(pid)
            if maker := _maker(pid, descriptor):
                locked[file][pid] = maker
    return {
        each: Holders(tuple(dict.fromkeys(open_in[each])), _owners(locked[each]), files.is_whole)
        for each in wanted
    }


def _owners(makers: dict[int, int]) -> tuple[int, ...]:
    """The processes that have made a lock, or those that still have it from one that has ended."""
    return tuple({pid for pid, maker in makers.items() if pid == maker} or makers)


def _maker(pid: int, descriptor: str) -> int:
    """The process that has made the lock of an open file (proc_pid_fdinfo(5)); 0 for a file that isn't locked."""
    fields = next(iter(proc.file_rows(pid, descriptor, "lock")), [])
    return int(fields[5]) if len(fields) > 5 and fields[5].isdigit() else 0
