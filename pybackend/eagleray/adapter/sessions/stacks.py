"""The stacks of a worker's threads: the user's frames first, frames of Ray and the debugger folded."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from eagleray.adapter.sessions.pydevd_patches import STACK
from eagleray.protocol.dap import Body, Frame, Row, SendRequest

# Parts of the package ray that users read, subclass and set breakpoints in.
LIBRARIES = ("rllib", "train", "tune", "data", "serve", "llm", "air")

# The first line of a frame in a traceback; the lines of its code are indented further.
_TRACEBACK_FRAME = re.compile(r'^  File "(?P<path>[^"]*)", line \d+', re.MULTILINE)
# Text below the last frame of an exception: its message, and how it led to the next one.
_MESSAGE = re.compile(r"^\S", re.MULTILINE)

# Threads that Ray and debugpy run for themselves; users don't debug them.
OWN_THREADS = ("PythonGCThread", "ray_", "pydevd.", "Profile", "grpc")


class Stacks:
    """Folded stacks of stopped threads, in the worker's paths.

    A stack comes with its stop, or is requested once.  `stopped` contains the threads that are stopped now.
    `is_wrapped`: the last stop came with a stack that has a frame of Ray on top, which is folded away.
    """

    def __init__(self, request: SendRequest, stopped: Collection[int]) -> None:
        self._request = request
        self._stopped = stopped
        self._owners = FrameOwners({})
        self._frames: dict[int, list[Frame]] = {}
        self.is_wrapped = False

    def set_roots(self, roots: Mapping[str, str]) -> None:
        """Sets the folders of Ray and of the debugger in the worker, by whose frames are folded."""
        self._owners = FrameOwners(roots)

    def on_stop(self, body: Body) -> None:
        """Takes the stack that came with a `stopped` event out of it."""
        stacks = take_stacks(body)
        self._frames = {thread: fold(frames, self._owners) for thread, frames in stacks.items()}
        self.is_wrapped = any(is_wrapped(frames, self._owners) for frames in stacks.values())

    def clear(self) -> None:
        self._frames.clear()

    def folded_traceback(self, text: str) -> str:
        """A traceback without the frames that the call stack folds."""
        return fold_traceback(text, self._owners)

    async def frames(self, thread: int) -> list[Frame]:
        """The stack of a thread; raises what the request raises."""
        if thread not in self._frames:
            arguments = {"threadId": thread, "startFrame": 0, "levels": 0}
            response = await self._request("stackTrace", arguments)
            frames = fold((response.get("body") or {}).get("stackFrames") or [], self._owners)
            if thread not in self._stopped:
                # It has resumed meanwhile.
                return frames
            self._frames[thread] = frames
        return self._frames[thread]


def take_stacks(body: Body) -> dict[int, list[Frame]]:
    """Removes the stack that our patch of debugpy adds to a `stopped` event, and returns it by its thread."""
    frames, thread = body.pop(STACK, None), body.get("threadId")
    return {thread: frames} if isinstance(frames, list) and isinstance(thread, int) else {}


class FrameOwners:
    """Tells frames of Ray and of the debugger by the folders that the worker named (`ray`, `debugpy`, `pydevd`)."""

    def __init__(self, roots: Mapping[str, str]) -> None:
        self._ray = roots.get("ray", "")
        self._debugger = tuple(
            root.rstrip("/") + "/" for name, root in roots.items() if name != "ray" and root
        )

    def is_debugger(self, path: str) -> bool:
        """A frame of debugpy, or of the files of Ray that call it."""
        return _is_breakpoint(path) or (bool(self._debugger) and path.startswith(self._debugger))

    def library(self, path: str) -> str:
        """The library of Ray that the file belongs to ("rllib"), "ray" for Ray's core, else ""."""
        inside = self._inside_ray(path)
        if inside is None:
            return ""
        top = inside.split("/", 1)[0]
        return top if top in LIBRARIES else "ray"

    def _inside_ray(self, path: str) -> str | None:
        if self._ray and path.startswith(self._ray + "/"):
            return path[len(self._ray) + 1 :]
        # Compiled parts of Ray name their source by its path on the machine that built Ray (2.60, `_raylet.so`).
        compiled = path.startswith("python/ray/") or "-packages/python/ray/" in path
        if compiled or "/site-packages/ray/" in path:
            return path.rpartition("/site-packages/")[2].split("ray/", 1)[1]
        return None


def fold(frames: list[Frame], owners: FrameOwners) -> list[Frame]:
    """The frames with the user's first: Ray's are marked "subtle", which the editor folds.

    1. Ray's breakpoint() and all that it called are removed: the worker waits there, the user doesn't.
       So are frames of the debugger on top.
    2. So are frames of Ray's core on top, if others are below.
    3. Of the rest, frames of the debugger and of Ray are subtle, except the first one and the
       others of its library: a user who stopped inside RLlib reads RLlib.
    4. debugpy marks all installed packages; the mark is removed from the package that the worker is stopped in.
    """
    calls = [position for position, frame in enumerate(frames) if _is_breakpoint(_path(frame))]
    rest = frames[calls[-1] + 1 :] if calls else frames
    rest = _without_top(rest, owners.is_debugger)
    rest = _without_top(
        rest, lambda path: owners.is_debugger(path) or owners.library(path) == "ray"
    )
    if not rest:
        return []
    top_library = owners.library(_path(rest[0]))
    package = _package(_path(rest[0]))
    folded = []
    for frame in rest:
        path = _path(frame)
        library = owners.library(path)
        if owners.is_debugger(path) or (library != "" and library != top_library):
            folded.append({**frame, "presentationHint": "subtle"})
        elif frame is rest[0] or (package != "" and _package(path) == package):
            folded.append({k: v for k, v in frame.items() if k != "presentationHint"})
        else:
            folded.append(frame)
    return folded


def fold_traceback(text: str, owners: FrameOwners) -> str:
    """A traceback without the frames of Ray and of the debugger, unless it has no others.

    As in `fold`, a user whose code failed inside a library of Ray sees the frames of that library.  The messages of
    the exception and of those that led to it stay.
    """
    starts = list(_TRACEBACK_FRAME.finditer(text))
    if not starts:
        return text
    innermost = owners.library(starts[-1]["path"])
    ends = [*(start.start() for start in starts[1:]), len(text)]
    folded = [_is_folded(start["path"], innermost, owners) for start in starts]
    if all(folded):
        return text
    parts = [text[: starts[0].start()]]
    for start, end, is_folded in zip(starts, ends, folded, strict=True):
        message = _MESSAGE.search(text, start.end(), end)
        begin = start.start() if not is_folded else message.start() if message else end
        parts.append(text[begin:end])
    return "".join(parts)


def _is_folded(path: str, top_library: str, owners: FrameOwners) -> bool:
    library = owners.library(path)
    return owners.is_debugger(path) or (
        library != "" and (library == "ray" or library != top_library)
    )


def is_wrapped(frames: list[Frame], owners: FrameOwners) -> bool:
    """Whether a frame of Ray's core is on top of the user's, which `fold` removes."""
    paths = [_path(frame) for frame in frames]
    if not paths or owners.library(paths[0]) != "ray" or any(map(_is_breakpoint, paths)):
        return False
    return any(owners.library(path) != "ray" for path in paths)


def is_own_thread(name: str) -> bool:
    """Whether it is a thread of Ray or of the debugger."""
    return name.startswith(OWN_THREADS)


def is_noise(variable: Row) -> bool:
    """Whether pydevd added the variable for the value that Ray's breakpoint() returned."""
    name = str(variable.get("name", ""))
    return name.startswith("(return)") and name.endswith(("set_trace", "_debugpy_breakpoint"))


def _without_top(frames: list[Frame], is_removed: Callable[[str], bool]) -> list[Frame]:
    for position, frame in enumerate(frames):
        if not is_removed(_path(frame)):
            return frames[position:]
    return frames


def _is_breakpoint(path: str) -> bool:
    return path.endswith(("/ray/util/debugpy.py", "/ray/util/rpdb.py"))


def _package(path: str) -> str:
    """The installed package of a file, with the folder that it is installed in; else ""."""
    folder, installed, inside = path.rpartition("-packages/")
    return folder + installed + inside.split("/", 1)[0] if installed else ""


def _path(frame: Frame) -> str:
    source = frame.get("source")
    return str(source.get("path") or "") if isinstance(source, dict) else ""
