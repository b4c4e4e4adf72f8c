"""Starts a program that outlives its ssh connection, says how it is, and sends it signals; runs where the program runs.

Sent as text to a Python there, as the first line of its input.  Its arguments are a mark, an operation and the id of a run:

    start        the second line of its input is a JSON object with `argv`, `cwd`, `env`, `without` (prefixes of variables
                 that the program doesn't get), `config` and `option`: a private file, appended as `OPTION FILE`, and
                 `missing`: the note in the output where bytes are lost, with places for their number and the reason
    status       how the program is
    stop NUMBER  sends this signal to the program's group

It prints the mark and one JSON object: `pid`, `lives`, `code` (null while that is not known), `output` (the file of what it
prints) and `host`; or `error`.  A process of ours stays with the program to note its exit code, and then ends whatever the
program has left behind, which it finds by its session and by a variable.  It needs only Python 3.6, the `python3` of many login nodes.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MARK = "EAGLERAY_REMOTE_RUN"
OUTPUT, STATE, CONFIG = "output.log", "state.json", "server.yaml"
# Folders of programs that have ended are removed after so long.
UNUSED_S = 30 * 24 * 3600.0
# The time between the two signals for processes that a program has left behind.
END_S = 5.0
_POLL_S = 0.1
_LONGEST_START_S = 30.0
# Sites and installers put programs on the path of login shells only.
_LOGIN_SHELL = ["bash", "-lc", 'exec "$@"', "bash"]


def main(operation: str, run: str, *rest: str) -> "dict[str, Any]":
    folder = _folder(run)
    if operation == "start" and not folder.exists():
        _remove_unused(folder.parent)
        # A repeated request, after a lost answer, starts nothing more.
        _start(folder, json.loads(_line()))
    status = _status(folder)
    if operation == "stop" and status.get("lives"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(status["pid"], int(rest[0]))
    return status


def _folder(run: str) -> Path:
    home = os.environ.get("EAGLERAY_HOME")
    return (Path(home) if home else Path.home() / ".local/share/eagleray") / "remote_runs" / run


def _line() -> str:
    """The next line of the input, of which nothing else may be read."""
    with open(0, "rb", 0, closefd=False) as stdin:  # own file
        return stdin.readline().decode()


def _start(folder: Path, request: "Mapping[str, Any]") -> None:
    """Returns when the program runs, or can't be started, which its state says."""
    folder.mkdir(mode=0o700, parents=True)
    if request["config"]:
        _write(folder / CONFIG, request["config"])
    ready, started = os.pipe()
    if os.fork() == 0:
        try:
            os.close(ready)
            _watch(folder, request, started)
        finally:
            os._exit(0)
    os.close(started)
    # Ends with the first byte, or when the process has ended without one.
    os.read(ready, 1)
    os.close(ready)


def _watch(folder: Path, request: "Mapping[str, Any]", started: int) -> None:
    """The process that stays: in a session of its own, without the files of the connection."""
    os.setsid()
    output = os.open(str(folder / OUTPUT), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    state = {"host": socket.gethostname()}  # type: dict[str, Any]
    source, printed = os.pipe()
    try:
        program = _spawn(folder, request, printed)
    except OSError as error:
        _write(folder / STATE, json.dumps({**state, "error": str(error)}))
        return
    os.close(printed)
    copying = threading.Thread(target=_copy, args=(source, output, request["missing"]), daemon=True)
    copying.start()
    state.update(pid=program.pid, born=_born(program.pid))
    state.update(watcher=os.getpid(), watcher_born=_born(os.getpid()))
    _write(folder / STATE, json.dumps(state))
    try:
        os.write(started, b"1")
        os.close(started)
    except OSError:
        # The connection was cut meanwhile.
        pass
    code = program.wait()
    _end_rest(folder.name, program.pid)
    copying.join(END_S)
    # As in a shell.
    _write(folder / STATE, json.dumps({**state, "code": 128 - code if code < 0 else code}))


def _copy(source: int, output: int, missing: str) -> None:
    """Copies the output of the program; what a full disk doesn't take is counted and noted, and never fails the program."""
    lost, reason, is_open = 0, "", True
    while is_open:
        piece = os.read(source, 2**16)
        is_open = bool(piece)
        try:
            if lost:
                os.write(output, (missing % (lost, reason)).encode())
                lost = 0
            while piece:
                piece = piece[os.write(output, piece) :]
        except OSError as error:
            lost += len(piece)
            reason = error.strerror or str(error)


def _spawn(folder: Path, request: "Mapping[str, Any]", output: int) -> "subprocess.Popen[bytes]":
    argv = list(request["argv"])
    if request["config"]:
        argv += [request["option"], str(folder / CONFIG)]
    dropped = tuple(request["without"])
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(dropped or "\0")
    }
    env.update(request["env"], **{MARK: folder.name, "PYTHONUNBUFFERED": "1"})
    if shutil.which(argv[0], path=env.get("PATH")) is None:
        argv = [*_LOGIN_SHELL, *argv]
    cwd = request["cwd"] if Path(request["cwd"]).is_dir() else str(Path.home())
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )


def _status(folder: Path) -> "dict[str, Any]":
    deadline = time.time() + _LONGEST_START_S
    while not (folder / STATE).exists():
        if not folder.exists() or time.time() > deadline:
            return {"error": "it was not started here", "pid": 0}
        time.sleep(_POLL_S)
    state = json.loads((folder / STATE).read_text())  # own file
    if "error" in state:
        return {"error": state["error"], "pid": 0}
    # Another login node with the same home doesn't see its processes.
    is_here = state["host"] == socket.gethostname()
    # Until its end is noted, with the exit code and after what it has left behind has ended, it isn't over.
    processes = [("pid", "born"), ("watcher", "watcher_born")]
    runs = [_born(state.get(pid, 0)) == state.get(born) != 0 for pid, born in processes]
    if not any(runs):
        # It may have been noted meanwhile.
        state = json.loads((folder / STATE).read_text())  # own file
    lives = "code" not in state and (not is_here or any(runs))
    return {
        "pid": state["pid"],
        "lives": lives,
        "code": state.get("code"),
        "output": str(folder / OUTPUT),
        "host": state["host"],
        "is_here": is_here,
    }


def _born(pid: int) -> float:
    """When the process began, in ticks since the start of the machine; 0 for none, and for a zombie."""
    fields = _fields(pid)
    return 0 if not fields or fields[0] == "Z" else float(fields[19])


def _fields(pid: int) -> "list[str]":
    """Returns the fields after the name in its `stat`: state, parent, group, session, …"""
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return []


def _end_rest(run: str, session: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.time() + END_S
        left = _left(run, session)
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        while any(_born(pid) for pid in left) and time.time() < deadline:
            time.sleep(_POLL_S)


def _left(run: str, session: int) -> "list[int]":
    """The processes in the session, and those with the variable, which engines overwrite with their titles."""
    wanted = f"{MARK}={run}".encode()
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [
        pid
        for pid in pids
        if pid != os.getpid() and (_fields(pid)[3:4] == [str(session)] or wanted in _variables(pid))
    ]


def _variables(pid: int) -> "list[bytes]":
    try:
        return Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _write(file: Path, text: str) -> None:
    """Replaces the file at once, for this user only."""
    new = file.with_name(file.name + ".new")
    fd = os.open(str(new), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w") as opened:
        opened.write(text)
    new.replace(file)


def _remove_unused(folder: Path) -> None:
    if not folder.is_dir():
        return
    for old in folder.iterdir():
        try:
            if time.time() - (old / STATE).stat().st_mtime > UNUSED_S and not _status(old).get(
                "lives"
            ):
                shutil.rmtree(str(old))
        except (OSError, ValueError):
            continue


if __name__ == "__main__":
    sys.stdout.write(f"\n{sys.argv[1]}{json.dumps(main(*sys.argv[2:]))}\n")
