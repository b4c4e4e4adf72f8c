"""A path that may come from outside is opened by `remote/injected/outside_files.py` alone: no pipe, no device, no file without end.

In the folders below, each other call that reads a file names one of the kernel, or its line ends with `# kernel's file` or
`# own file`: only this user or Eagleray has named and made that file.  All other folders read files of ours alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pybackend" / "eagleray"
HANDLE_PATHS_FROM_OUTSIDE = (
    "adapter",
    "clusters",
    "debug",
    "doctor",
    "observe",
    "profile",
    "remote",
    "rollouts",
    "runs",
    "supervisor",
)
MARKS = ("# own file", "# kernel's file")
# A file of the code itself, and a store's.
OURS = ("resources.files(", "__file__", "self._file")
# Its names are the kernel's, apart from those below `root`, `cwd` and `fd` of a process.
KERNEL = ("/proc", "/sys")
ELSEWHERE = ("/root", "/cwd", "/fd")
READING = ("open", "read_text", "read_bytes")
# Flags with which a call of `os.open` doesn't wait, or writes: writing has its own rules (`O_EXCL`, `O_NOFOLLOW`).
CAREFUL = (
    "O_NONBLOCK",
    "FLAGS",
    "_FOLDER",
    "O_DIRECTORY",
    "O_WRONLY",
    "O_CREAT",
    "O_RDWR",
    "O_PATH",
    "_PATH_ONLY",
)


def unsafe_reads(source: str) -> list[int]:
    """The lines of calls that open a file to read it."""
    lines = source.splitlines()
    if not any(name in source for name in READING):
        return []
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and called(node) in READING
    ]
    return sorted(
        call.lineno
        for call in calls
        if is_read(call)
        and not is_of_kernel(call)
        and not any(name in ast.unparse(call.func) for name in OURS)
        and not any(mark in "".join(lines[call.lineno - 1 : call.end_lineno]) for mark in MARKS)
    )


def called(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def is_read(call: ast.Call) -> bool:
    name, text = ast.unparse(call.func), ast.unparse(call)
    if name in ("os.open", "io.open"):
        # One with a mode is created.
        return len(call.args) < 3 and not any(flag in text for flag in CAREFUL)
    if name in ("open", "gzip.open", "bz2.open", "lzma.open"):
        return not is_writing(call)
    method = name.rpartition(".")[2]
    if any(keyword.arg == "fileobj" for keyword in call.keywords):
        return False
    if method == "open" and "." in name:
        # Other objects than paths have a method of this name; a path's has a mode, or options of `open`.
        modes = [each.value for each in call.args if isinstance(each, ast.Constant)]
        named = {keyword.arg for keyword in call.keywords}
        is_path = any(mode in ("r", "rb", "rt", "r+b") for mode in modes)
        is_path |= bool(named & {"encoding", "errors", "buffering", "mode"})
        return is_path and not is_writing(call)
    return method in ("read_text", "read_bytes")


def is_writing(call: ast.Call) -> bool:
    constants = [each.value for each in call.args if isinstance(each, ast.Constant)]
    return any(isinstance(mode, str) and mode.strip("bt+") in ("w", "a", "x") for mode in constants)


def is_of_kernel(call: ast.Call) -> bool:
    """Whether the path begins with a folder of the kernel, in a literal of the call."""
    literals = (node.value for node in ast.walk(call) if isinstance(node, ast.Constant))
    texts = [text for text in literals if isinstance(text, str)]
    is_kernels = any(text.startswith(KERNEL) for text in texts)
    return is_kernels and not any(part in text for text in texts for part in ELSEWHERE)


def modules() -> Iterator[Path]:
    for folder in HANDLE_PATHS_FROM_OUTSIDE:
        yield from sorted((PACKAGE / folder).rglob("*.py"))


def test_each_path_from_outside_is_opened_safely() -> None:
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in modules()
        if (lines := unsafe_reads(path.read_text("utf-8")))
    }
    assert found == {}, (
        "Use eagleray.remote.injected.outside_files, or end the line with `# own file`."
    )


@pytest.mark.parametrize(
    "planted",
    [
        *("open(path)", "open(path, 'rb')", "Path(path).read_text()", "file.read_bytes()"),
        *("path.open('rb')", "path.open(encoding='utf-8')", "os.open(path, os.O_RDONLY)"),
        *("gzip.open(path)", "Path(f'/proc/{pid}/root{path}').open('rb')"),
    ],
)
def test_planted_read_is_found(planted: str) -> None:
    assert unsafe_reads(planted) == [1]


@pytest.mark.parametrize(
    "allowed",
    [
        *(
            "open(path, 'w')",
            "path.open('ab')",
            "socket.open()",
            "opened(path)",
            "content_of(path, 9)",
        ),
        *("Path('/proc/stat').read_text()", "Path(f'/proc/{pid}/maps').open(errors='replace')"),
        *("os.open(path, os.O_RDONLY | os.O_NONBLOCK)", "path.read_text()  # own file"),
    ],
)
def test_careful_call_is_allowed(allowed: str) -> None:
    assert unsafe_reads(allowed) == []
