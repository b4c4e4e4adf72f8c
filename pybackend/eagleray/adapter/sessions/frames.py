"""Which frames of a stack are the person's, and which are Ray's or the debugger's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eagleray.adapter.sessions.dap import Message

# Parts of the package ray that people read, subclass and set breakpoints in.
LIBRARIES = ("rllib", "train", "tune", "data", "serve", "llm", "air")

# Threads that Ray and debugpy run for themselves; nobody debugs them.
OWN_THREADS = ("PythonGCThread", "ray_", "pydevd.", "Profile", "grpc")


class FrameOwners:
    """Whose file a frame stands in, by the folders that the worker named (`ray`, `debugpy`, `pydevd`)."""

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
        # Compiled parts of Ray name their source as it lay where Ray was built.
        if path.startswith("python/ray/") or "/site-packages/ray/" in path:
            return path.split("ray/", 1)[1]
        return None


def fold(frames: list[Message], owners: FrameOwners) -> list[Message]:
    """The frames with the person's first: those of Ray are marked "subtle", which the editor folds.

    1. Ray's breakpoint() and all that it called go away: the worker waits there, the person does not.
       So do frames of the debugger on top.
    2. So do those of Ray's core on top, if anything else lies below.
    3. Of what is left, frames of the debugger and of Ray are subtle, except the first one and the
       others of its library: who stopped inside RLlib reads RLlib.
    4. debugpy marks all installed packages; the one in which the worker stands is read as well.
    """
    calls = [position for position, frame in enumerate(frames) if _is_breakpoint(_path(frame))]
    rest = frames[calls[-1] + 1 :] if calls else frames
    rest = _without_top(rest, owners.is_debugger)
    rest = _without_top(
        rest, lambda path: owners.is_debugger(path) or owners.library(path) == "ray"
    )
    if not rest:
        return []
    here = owners.library(_path(rest[0]))
    package = _package(_path(rest[0]))
    folded = []
    for frame in rest:
        path = _path(frame)
        library = owners.library(path)
        if owners.is_debugger(path) or (library != "" and library != here):
            folded.append({**frame, "presentationHint": "subtle"})
        elif frame is rest[0] or (package != "" and _package(path) == package):
            folded.append({k: v for k, v in frame.items() if k != "presentationHint"})
        else:
            folded.append(frame)
    return folded


def is_wrapped(frames: list[Message], owners: FrameOwners) -> bool:
    """Whether a frame of Ray's core is on top of the user's, which `fold` takes away."""
    paths = [_path(frame) for frame in frames]
    if not paths or owners.library(paths[0]) != "ray" or any(map(_is_breakpoint, paths)):
        return False
    return any(owners.library(path) != "ray" for path in paths)


def is_own_thread(name: str) -> bool:
    """A thread of Ray or of the debugger."""
    return name.startswith(OWN_THREADS)


def is_noise(variable: Message) -> bool:
    """A row that pydevd adds for the value which Ray's breakpoint() returned."""
    name = str(variable.get("name", ""))
    return name.startswith("(return)") and name.endswith(("set_trace", "_debugpy_breakpoint"))


def _without_top(frames: list[Message], is_theirs: Callable[[str], bool]) -> list[Message]:
    for position, frame in enumerate(frames):
        if not is_theirs(_path(frame)):
            return frames[position:]
    return frames


def _is_breakpoint(path: str) -> bool:
    return path.endswith(("/ray/util/debugpy.py", "/ray/util/rpdb.py"))


def _package(path: str) -> str:
    """The installed package of a file, with the folder that it is installed in; else ""."""
    folder, installed, inside = path.rpartition("-packages/")
    return folder + installed + inside.split("/", 1)[0] if installed else ""


def _path(frame: Message) -> str:
    source = frame.get("source")
    return str(source.get("path") or "") if isinstance(source, dict) else ""
