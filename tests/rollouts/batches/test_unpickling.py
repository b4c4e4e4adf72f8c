"""The list of what a pickle imports can't be forged: each known way to hide an import is listed, refused or not loaded."""

from __future__ import annotations

import collections
import datetime
import io
import pickle
import shlex
import tarfile
import types
import zipfile
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.scripts.unpickling import (
    Import,
    NotListedError,
    UnlistableError,
    imports,
    is_dangerous,
    limited,
    shown,
)
from hypothesis import given
from hypothesis import strategies as st

SYSTEM = ("os", "system")
UNLISTED = "unlisted"


def short(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


def run(*pieces: bytes) -> bytes:
    """A pickle of protocol 4 that calls what `pieces` leave on the stack with COMMAND."""
    return b"\x80\x04" + b"".join(pieces) + b"\x8c\x07COMMAND\x85R."


OS, SYS, NP, ND = short("os"), short("system"), short("numpy"), short("ndarray")
# Calls `os.system`, hidden in one way each.
HIDDEN: dict[str, bytes] = {
    "the last texts before it are others": run(
        OS, b"\x94", SYS, b"\x94", NP, b"0", ND, b"0", b"h\x00", b"h\x01\x93"
    ),
    "memo by PUT and MEMOIZE": run(
        OS, b"q\x05", b"0", SYS, b"q\x06", b"0", NP, b"\x94", b"0", ND, b"\x94", b"0h\x05h\x06\x93"
    ),
    "memo by LONG_BINPUT": run(
        OS, b"r\xff\xff\x00\x00", b"0", SYS, b"p70\n0", b"j\xff\xff\x00\x00", b"g70\n", b"\x93"
    ),
    "memo is overwritten": run(NP, b"q\x00", b"0", OS, b"q\x00", b"0", b"h\x00", SYS, b"\x93"),
    "twice on the stack": run(OS, SYS, b"20\x93"),
    "under a mark": run(b"(", NP, ND, b"1", OS, SYS, b"\x93"),
    "protocol 0": b"cos\nsystem\n(VCOMMAND\ntR.",
    "carriage returns": b"cos\r\nsystem\n(VCOMMAND\ntR.",
    "INST": b"(VCOMMAND\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nVCOMMAND\no.",
    "NEWOBJ": b"\x80\x04cos\nsystem\n\x8c\x07COMMAND\x85\x81.",
    "NEWOBJ_EX": b"\x80\x04cos\nsystem\n\x8c\x07COMMAND\x85}\x92.",
    "an extension": run(b"\x82\xf0"),
    "its result is dropped": b"\x80\x04cos\nsystem\n\x8c\x07COMMAND\x85R0N.",
    "behind data that isn't a pickle": run(OS, SYS, b"\x93") + b"\x80\x04\xff\xff",
    "an attribute of an attribute": run(short("numpy"), short("os.system"), b"\x93"),
    "attributes set by BUILD": (
        b"\x80\x04cnumpy\nprod\n(NV}(\x8c\x01a\x8c\x02osdtb0cnumpy\nprod.a\n" + SYS + b"\x93."
    ),
    "slots set by BUILD": b"\x80\x04cnumpy\nprod\nN}\x8c\x01a" + OS + b"s\x86b0cnumpy\nprod.a\n.",
    "a name that is computed": run(b"cbuiltins\nstr\n", OS, b"\x85R", SYS, b"\x93"),
    "the name of bytes": run(b"B\x02\x00\x00\x00os", SYS, b"\x93"),
    "a frame too long": b"\x80\x04\x95\xff\x00\x00\x00\x00\x00\x00\x00" + run(OS, SYS, b"\x93")[2:],
    "a memo that isn't there": run(b"h\x63", SYS, b"\x93"),
    "names that aren't UTF-8": b"cos\xff\nsystem\n.",
    "resolved by name": b"\x80\x04cpkgutil\nresolve_name\n\x8c\tos:system\x85R\x8c\x07COMMAND\x85R.",
    "getattr": b"\x80\x04cbuiltins\ngetattr\ncimportlib\nimport_module\n"
    + OS
    + b"\x85R"
    + SYS
    + b"\x86R.",
    "partial": b"\x80\x04cfunctools\npartial\ncos\nsystem\n\x8c\x07COMMAND\x86R)R.",
    "pip": run(b"cpip\nmain\n"),
    "loading another file": run(b"cnumpy\nload\n"),
    "torch.load": run(b"ctorch\nload\n"),
}


def listing(folder: Path, content: bytes) -> list[Import] | str:
    file = folder / "some.pkl"
    file.write_bytes(content)
    try:
        return imports(str(file))
    except UnlistableError:
        return UNLISTED


@pytest.mark.parametrize("content", HIDDEN.values(), ids=HIDDEN)
def test_hidden_imports_are_named_as_dangerous_or_refused(tmp_path: Path, content: bytes) -> None:
    names = listing(tmp_path, content)
    assert names == UNLISTED or any(is_dangerous(*name) for name in names if name)


@pytest.mark.parametrize("content", HIDDEN.values(), ids=HIDDEN)
def test_pickle_runs_nothing_that_was_not_listed(tmp_path: Path, content: bytes) -> None:
    """As if a list had missed what is dangerous in it."""
    mark = tmp_path / "executed"
    command = f"touch {shlex.quote(str(mark))}".encode()
    content = content.replace(b"\x8c\x07COMMAND", b"VCOMMAND\n").replace(b"COMMAND", command)
    harmless = [("numpy", "ndarray"), ("numpy", "prod"), ("builtins", "str")]
    with pytest.raises(Exception):  # noqa: B017  # Any; only the mark counts.
        limited(harmless)(io.BytesIO(content)).load()
    assert not mark.exists()


class Evil:
    def __reduce__(self) -> Any:
        return print, ("executed",)


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"batch/{name}", content)
    return out.getvalue()


def tarred(**files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


EVIL, PLAIN = pickle.dumps(Evil()), pickle.dumps(3)
# As torch's old format: its magic number, version and system, its data, its keys, then bytes of tensors.
OLD = PLAIN + PLAIN + pickle.dumps({}) + EVIL + pickle.dumps(["0"]) + bytes(range(256))
NESTED = pickle.dumps((collections.deque, (OLD,)))


@pytest.mark.parametrize(
    "content",
    [
        EVIL,
        OLD,
        zipped(**{"data.pkl": EVIL, "data/0": b"\0" * 9}),
        zipped(**{"data.pkl": PLAIN, "other.pkl": EVIL}),
        tarred(storages=PLAIN, tensors=PLAIN, pickle=EVIL),
        # The input of torch.storage._load_from_bytes, and the state of a class.
        b"\x80\x04ctorch.storage\n_load_from_bytes\n" + pickle.dumps(OLD)[2:-1] + b"\x85R.",
        b"\x80\x04cverl\nDataProto\n)R("
        + pickle.dumps(zipped(**{"data.pkl": EVIL}))[2:-1]
        + b"tb.",
    ],
    ids=["plain", "old", "zip", "two in a zip", "tar", "_load_from_bytes", "state"],
)
def test_every_format_is_listed(tmp_path: Path, content: bytes) -> None:
    assert ("builtins", "print") in listing(tmp_path, content)


@pytest.mark.parametrize("protocol", range(6))
def test_ordinary_values_are_listed_and_loaded(tmp_path: Path, protocol: int) -> None:
    value = {
        "rows": collections.OrderedDict(a=[1, 2.5, None, True, 10**30]),
        "more": collections.defaultdict(
            list, b=[(1, 2), {3}, frozenset((4,)), b"\xff", bytearray(b"5")]
        ),
        "when": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
        "same": [text := "text", text],
        "error": ValueError("x"),
        "complex": 1j,
    }
    content = pickle.dumps(value, protocol)
    names = listing(tmp_path, content)
    assert isinstance(names, list)
    assert [name for name in names if is_dangerous(*name)] == []
    loaded = limited(names)(io.BytesIO(content)).load()
    assert {**loaded, "error": 0} == {**value, "error": 0}


def test_import_that_is_another_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module may have imported `system` itself."""
    module = types.ModuleType("looks_harmless")
    exec("from os import system as rebuild", module.__dict__)
    monkeypatch.setitem(__import__("sys").modules, "looks_harmless", module)
    content = b"clooks_harmless\nrebuild\n."
    assert listing(tmp_path, content) == [("looks_harmless", "rebuild")]
    with pytest.raises(NotListedError, match=r"looks_harmless\.rebuild is posix\.system"):
        limited([("looks_harmless", "rebuild")])(io.BytesIO(content)).load()


@pytest.mark.parametrize(
    "name", ["numpy.ndarray, os", "ndarray\u202e", "n\u0443mpy", "", "a b", "1", "a..b"]
)
def test_names_that_would_mislead_are_refused(tmp_path: Path, name: str) -> None:
    content = (
        b"\x80\x04\x8c\x05numpy" + b"\x8c" + bytes([len(name.encode())]) + name.encode() + b"\x93."
    )
    assert listing(tmp_path, content) == UNLISTED


def test_paths_of_attributes_differ_from_modules() -> None:
    assert shown("numpy", "os.system") == "numpy:os.system"
    assert is_dangerous("numpy", "os.system")
    assert not is_dangerous("numpy", "ndarray")


def test_pickle_that_requests_gigabytes_is_refused(tmp_path: Path) -> None:
    """LONG_BINPUT: 4 GB for its memo."""
    assert listing(tmp_path, b"\x80\x04]r\x01\x00\x00\x10.") == UNLISTED
    assert listing(tmp_path, pickle.dumps([list(range(100_000)), Path("p")])) != UNLISTED


OPCODES = [
    value
    for name in pickle.__all__
    if name.isupper() and isinstance(value := vars(pickle)[name], bytes) and len(value) == 1
]
PIECES = st.sampled_from([*OPCODES, OS, SYS, b"cos\nsystem\n", b"\x00", b"\x01", b"\n", b"0\n"])


@given(st.lists(PIECES, max_size=30))
def test_any_pickle_imports_only_what_was_listed(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    """The imports of a load are in the list, or the load was refused.

    The C class has an array as memo, which LONG_BINPUT makes up to 32 GB large; the Python class has a dictionary.
    """
    content = b"\x80\x04" + b"".join(pieces) + b"."
    names = listing(tmp_path_factory.getbasetemp(), content)
    imported: list[Import] = []

    class Recorder(pickle._Unpickler):  # type: ignore[misc, name-defined]
        def find_class(self, module: str, name: str) -> Any:
            imported.append((module, name))
            return dict

    try:
        Recorder(io.BytesIO(content)).load()
    except Exception:
        return
    assert names == UNLISTED or set(imported) <= set(names)
