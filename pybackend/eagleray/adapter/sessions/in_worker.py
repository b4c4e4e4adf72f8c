"""Functions that run inside the worker: this text is sent there and evaluated while the worker still waits.

They make breakpoint() stop at the next line of the user's own function, take debugpy's delay off its answers,
send the stack with each stop, and describe the worker.  They must run on every Python that Ray ran on since 2.9
and must not fail: without them the worker can still be debugged, only later and one frame off.
"""

# As light and as old-fashioned as possible: the text is sent and compiled for each call.
# ruff: noqa: PTH100, PTH115, PTH118, PTH120, PTH123, SIM105, UP031

from __future__ import annotations

import dis
import hashlib
import json
import os
import socket
import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import BinaryIO

    # In the worker, the text of that module runs in the same namespace before this one.
    from eagleray.adapter.sessions.pydevd_patches import clear_filters, patch, set_call

    def opened(path: str) -> BinaryIO:
        """The function of `remote/injected/outside_files.py`, whose text runs in the worker, too."""


RAY_FILES = (
    os.path.join("ray", "util", "debugpy.py"),
    os.path.join("ray", "util", "rpdb.py"),
)
# Six times as much when every byte has to be escaped, which still fits one line of the control protocol.
LARGEST_FILE = 2**19
# No source file is larger; the whole of it is hashed.
LARGEST_HASHED = 2**24
LARGEST_TABLE = 2**16
IGNORED = "_eagleray_ignored"
RPC_OUTPUT = "eagleray"
# The attribute keeps the name that adapters of earlier versions have set in workers that still run.
STOP_LINES = "_eagleray_stands"


def send_answer(call: int, function: str, *arguments: Any) -> None:
    """Runs a function of this module and sends its answer as an event, which is not forwarded to editors."""
    import pydevd

    data = {"call": call, "answer": globals()[function](*arguments)}
    body = {"category": "telemetry", "output": RPC_OUTPUT, "data": data}
    pydevd.send_json_message({"type": "event", "event": "output", "body": body})


def prepare(ignored: list[Any]) -> str:
    """Called once per connection, before the worker resumes; returns what WorkerInfo holds."""
    import pydevd

    db = pydevd.get_global_debugger()
    try:
        db.writer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except Exception:  # noqa: S110 (only slower without it)
        pass
    try:
        install(pydevd)
        ignore(ignored)
    except Exception:  # noqa: S110 (it then stops on the call, as without Eagleray)
        pass
    try:
        clear_filters(db)
    except Exception:  # noqa: S110 (it then stops also where an error ends a thread)
        pass
    return json.dumps(
        {
            "pid": os.getpid(),
            "rank": os.environ.get("RANK", ""),
            "roots": roots(),
            "waiting": waiting(ignored),
            "python": "%d.%d" % sys.version_info[:2],
            "boot": text_of("/proc/sys/kernel/random/boot_id"),
            "mounts": text_of("/proc/self/mountinfo"),
            "pid_namespace": target_of("/proc/self/ns/pid"),
        }
    )


def install(pydevd: Any) -> None:
    """Makes Ray's call of pydevd.settrace stop in the function that called breakpoint()."""
    if hasattr(pydevd.settrace, IGNORED):
        return
    original = pydevd.settrace

    def settrace(*args: Any, **kwargs: Any) -> Any:
        try:
            stop_at = kwargs.get("stop_at_frame")
            if stop_at is not None:
                chain = chain_to_user(sys._getframe(1))
                user = chain[-1]
                if len(chain) > 2 and user is not None:
                    line = next_line(user)
                    if is_ignored(getattr(settrace, IGNORED), user, line):
                        return None
                    if pydevd.get_global_debugger().get_file_type(user) is not None:
                        line = None  # Code that pydevd does not trace (`get_file_type`), such as exec of a string.
                    getattr(settrace, STOP_LINES)[get_ident()] = [
                        user.f_code.co_filename,
                        user.f_lineno,
                        line or user.f_lineno,
                    ]
                    # Stopping "at" a frame means at its next event.  The return of the frame that the
                    # user's function called is shown in the user's function, on the line of the call.
                    kwargs["stop_at_frame"] = chain[-3] if line is None else user
                # In a run, and for debugpy.breakpoint(), it is the frame of the call itself.
                set_call(get_ident(), stop_at if len(chain) == 1 else user)
        except Exception:  # noqa: S110 (it then stops on the call, as without Eagleray)
            pass
        return original(*args, **kwargs)

    setattr(settrace, IGNORED, [])
    setattr(settrace, STOP_LINES, {})
    pydevd.settrace = settrace
    patch(pydevd.get_global_debugger())


def ignore(locations: list[Any]) -> str:
    """From now on breakpoint() doesn't stop at these [path, line], whether the line is the call's or the next.

    Returns [path, line of the call, next line] of each thread whose last breakpoint() was at one of them.
    """
    import pydevd

    setattr(pydevd.settrace, IGNORED, locations)
    stops = getattr(pydevd.settrace, STOP_LINES).values()
    ignored = [s for s in stops if s[:2] in locations or [s[0], s[2]] in locations]
    return json.dumps({"stops": ignored})


def is_ignored(locations: list[Any], user: Any, line: int | None) -> bool:
    path = user.f_code.co_filename
    return [path, user.f_lineno] in locations or (line is not None and [path, line] in locations)


def chain_to_user(frame: Any) -> list[Any]:
    """`frame` and its callers up to the first that is not of Ray's debugger."""
    chain = [frame]
    while chain[-1] is not None and chain[-1].f_code.co_filename.endswith(RAY_FILES):
        chain.append(chain[-1].f_back)
    return chain


def next_line(frame: Any) -> int | None:
    """The line of the same function that runs after the current call, None if the function ends."""
    starts = dict(dis.findlinestarts(frame.f_code))
    steps = []
    line = None
    for instruction in dis.get_instructions(frame.f_code):
        line = starts.get(instruction.offset, line)
        steps.append((instruction, line))
    index = {step.offset: position for position, (step, _) in enumerate(steps)}
    position = next(at for at, (step, _) in enumerate(steps) if step.offset > frame.f_lasti)
    for _ in steps:
        step, line = steps[position]
        if line is not None and line != frame.f_lineno:
            return line
        if step.opname.startswith(("RETURN_", "RAISE", "RERAISE")):
            return None
        is_jump = step.opcode in dis.hasjrel or step.opcode in dis.hasjabs
        if is_jump and step.opname.startswith("JUMP_") and "_IF_" not in step.opname:
            position = index[step.argval]
        else:
            position += 1
    return None


def waiting(ignored: list[Any]) -> int:
    """How many threads wait for a debugger at a breakpoint() that is not ignored."""
    users = [user_that_waits(top) for top in sys._current_frames().values()]
    return sum(1 for user in users if user and not is_ignored(ignored, user, next_line(user)))


def user_that_waits(frame: Any) -> Any:
    """The frame that called breakpoint() and still waits, None when the thread runs."""
    while frame is not None and frame.f_code.co_name != "block_until_configuration_done":
        frame = frame.f_back
    while frame is not None and not frame.f_code.co_filename.endswith(RAY_FILES):
        frame = frame.f_back
    return None if frame is None else chain_to_user(frame)[-1]


def roots() -> dict[str, str]:
    """The folders of Ray and of the debugger, whose frames are not the user's."""
    folders = {}
    for name in ("ray", "debugpy", "pydevd"):
        path = getattr(sys.modules.get(name), "__file__", None)
        if path:
            folders[name] = os.path.dirname(os.path.abspath(path))
    return folders


def text_of(path: str) -> str:
    """The beginning of a file of the kernel, or ""."""
    try:
        with open(path, "rb") as file:  # kernel's file
            return file.read(LARGEST_TABLE).decode("utf-8", "replace")
    except OSError:
        return ""


def target_of(path: str) -> str:
    """The target of a symbolic link of the kernel, or ""."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def read_file(path: str) -> str:
    """A source file as the worker sees it."""
    try:
        with opened(path) as file:
            if os.fstat(file.fileno()).st_size > LARGEST_HASHED:
                return json.dumps({"missing": True})
            data = file.read(LARGEST_FILE + 1)
            digest = hashlib.sha256(data)
            # No more of one that grows.
            digest.update(file.read(LARGEST_HASHED))
    except OSError:
        return json.dumps({"missing": True})
    return json.dumps(
        {
            "text": data[:LARGEST_FILE].decode("utf-8", "replace"),
            "truncated": len(data) > LARGEST_FILE,
            "sha256": digest.hexdigest(),
        }
    )
