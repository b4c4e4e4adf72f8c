"""Lists what a pickle would import, without importing it, and loads a pickle that may import only what was listed.

Both are done by Python's own unpickler, so that no trick with its opcodes makes them differ: the list is of a load in
which each import is replaced by a class that does nothing.  What depends on the result of a call can't be listed.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import resource
import tarfile
import zipfile
from pathlib import Path
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# An import: the module, and the name or path of an attribute in it.
Import = tuple[str, str]

# The pickles of the older format of torch.save that precede its data (torch 2.13, `_legacy_load`).
_HEADERS = 5
_DEEPEST = 20
_MOST_IMPORTS = 200
# A number in a list takes three bytes of a pickle, and 40 of memory.
_FREE_MEMORY = 2**30
_MEMORY_PER_BYTE = 32
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_ZIP = b"PK\x03\x04"
# Modules that run commands or code, open files or connections, import by name, or make any attribute reachable.
_MODULES = frozenset([
    "_aix_support", "_ctypes", "_osx_support", "_pickle", "_posixsubprocess", "_pyrepl", "_socket",
    "_sqlite3", "_testcapi", "_thread", "_xxsubinterpreters", "aiohttp", "asyncio", "atexit", "bdb",
    "cProfile", "cloudpickle", "code", "codeop", "commands", "concurrent", "ctypes", "dbm", "dill",
    "distutils", "doctest", "ensurepip", "faulthandler", "fileinput", "ftplib", "gc", "glob",
    "http", "httplib", "httpx", "idlelib", "imaplib", "imp", "importlib", "inspect", "io", "joblib",
    "lib2to3", "linecache", "logging", "marshal", "mmap", "modulefinder", "multiprocessing",
    "netrc", "nntplib", "nt", "ntpath", "operator", "os", "pdb", "pickle", "pip", "pipes",
    "pkgutil", "platform", "poplib", "posix", "posixpath", "profile", "pstats", "pty", "py_compile",
    "pydoc", "readline", "requests", "resource", "rlcompleter", "runpy", "setuptools", "shelve",
    "shlex", "shutil", "signal", "site", "smtplib", "socket", "socketserver", "sqlite3", "ssl",
    "subprocess", "sys", "sysconfig", "telnetlib", "tempfile", "test", "threading", "timeit",
    "tkinter", "trace", "tracemalloc", "types", "unittest", "urllib", "urllib2", "urllib3", "venv",
    "webbrowser", "winreg", "wsgiref", "xmlrpc", "zipapp", "zipimport",
])  # fmt: skip
_BUILTINS = frozenset([
    "__build_class__", "__import__", "apply", "breakpoint", "compile", "delattr", "dir", "eval",
    "exec", "execfile", "exit", "file", "filter", "getattr", "globals", "help", "input", "locals",
    "map", "open", "quit", "raw_input", "reduce", "reload", "setattr", "type", "vars",
])  # fmt: skip
_NAMES = frozenset([
    "_codecs.decode", "codecs.decode", "codecs.open", "copyreg.add_extension", "copyreg.pickle",
    "functools.partial", "functools.partialmethod", "functools.reduce", "numpy.fromfile",
    "numpy.genfromtxt", "numpy.load", "numpy.loadtxt", "numpy.memmap", "pandas.eval",
    "pandas.read_pickle", "torch.load", "torch.serialization.load",
])  # fmt: skip
_PREFIXES = (
    *("numpy.distutils.", "numpy.f2py.", "numpy.testing.", "torch._dynamo.", "torch._inductor."),
    *("torch.distributed.elastic.", "torch.distributed.launch", "torch.distributed.rpc."),
    *("torch.fx.", "torch.hub.", "torch.jit.", "torch.multiprocessing.", "torch.package."),
    *("torch.utils._config_module.", "torch.utils.bottleneck.", "torch.utils.collect_env."),
    *("torch.utils.cpp_extension.", "torch.utils.data.datapipes.", "uuid._"),
)


class UnlistableError(Exception):
    """The imports of the pickle can't be listed without executing it."""


class NotListedError(pickle.UnpicklingError):
    """The pickle imports something that wasn't listed, or that is something else."""


def shown(module: str, name: str) -> str:
    """An import as text; a path of attributes is told from a module."""
    return f"{module}{':' if '.' in name else '.'}{name}"


def is_dangerous(module: str, name: str) -> bool:
    """Whether an import is one that can run anything, or reaches through attributes of another; others may too."""
    return "." in name or _can_run_anything(module, name)


def _can_run_anything(module: str, name: str) -> bool:
    root, full = module.partition(".")[0], f"{module}.{name}"
    if root in ("builtins", "__builtin__"):
        return name.partition(".")[0] in _BUILTINS
    return root in _MODULES or full in _NAMES or full.startswith(_PREFIXES)


def imports(path: str) -> list[Import]:
    """Returns what loading a file would import, in order; raises UnlistableError, or OSError."""
    listing = _Imports()
    with Path(path).open("rb") as file, _limited_memory(file):  # own file
        listing.add_file(file)
    return sorted(listing.names)


@contextlib.contextmanager
def _limited_memory(file: Any) -> Iterator[None]:
    """Ten bytes may request 32 GB: LONG_BINPUT sizes the array that is the memo of the C class (CPython 3.14, too)."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]  # kernel's file
    except OSError:
        # Not Linux.
        yield
        return
    size = os.fstat(file.fileno()).st_size
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = int(pages) * resource.getpagesize() + _FREE_MEMORY + _MEMORY_PER_BYTE * size
    finite = [value for value in (*before, limit) if value != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(finite), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


class _Imports:
    """The imports of a file, and of the pickles in its bytes, which what is imported may load."""

    def __init__(self) -> None:
        self.names: set[Import] = set()
        self._depth = 0

    def add_file(self, file: Any) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnlistableError("its pickles are nested too deeply")
        pickles = 0
        for stream in _streams(file):
            pickles += self._add_stream(stream)
        if not pickles:
            raise UnlistableError("it has no pickle")
        self._depth -= 1

    def _add_stream(self, stream: Any) -> int:
        """Adds a pickle and those that follow it; the rest of a file is data of tensors."""
        for count in range(_HEADERS):
            at = stream.tell()
            try:
                _Lister(stream, self).load()
            except UnlistableError:
                raise
            except Exception as error:
                if not count or self._is_pickle(stream, at):
                    raise UnlistableError(f"{type(error).__name__}: {error}") from error
                return count
        return _HEADERS

    def _is_pickle(self, stream: Any, at: int) -> bool:
        stream.seek(at)
        return stream.read(2) in _PICKLES

    def add(self, module: object, name: object) -> None:
        parts = [module, name]
        if not all(isinstance(part, str) for part in parts):
            raise UnlistableError("it computes a name")
        if not all(piece.isidentifier() for part in parts for piece in str(part).split(".")):
            raise UnlistableError(f"it imports {str(module)!a}, {str(name)!a}")
        if not all(str(part).isascii() for part in parts):
            raise UnlistableError(f"it imports {str(module)!a}, {str(name)!a}")
        self.names.add((str(module), str(name)))
        if len(self.names) > _MOST_IMPORTS:
            raise UnlistableError("it imports too much")

    def add_nested(self, value: object, depth: int = 0) -> None:
        """Adds the pickles in bytes that are given to what was imported."""
        if isinstance(value, (bytes, bytearray)):
            if value[:2] in _PICKLES or value[:4] == _ZIP:
                self.add_file(io.BytesIO(value))
        elif depth < _DEEPEST and isinstance(value, (tuple, list, set, frozenset)):
            for part in value:
                self.add_nested(part, depth + 1)
        elif depth < _DEEPEST and isinstance(value, dict):
            for part in value.items():
                self.add_nested(part, depth + 1)


def _streams(file: Any) -> Iterator[Any]:
    """The pickles of a file of torch.save, in any of its formats, or of a plain one."""
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                if entry.filename.endswith(".pkl"):
                    yield io.BytesIO(archive.read(entry))
        return
    file.seek(0)
    if file.read(2) in _PICKLES or not _is_tar(file):
        file.seek(0)
        yield file
        return
    file.seek(0)
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for name in ("storages", "tensors", "pickle"):
            member = archive.extractfile(name)
            if member is not None:
                yield io.BytesIO(member.read())


def _is_tar(file: Any) -> bool:
    file.seek(257)
    return bool(file.read(5) == b"ustar")


class _Lister(pickle.Unpickler):
    """Loads a pickle with a class that does nothing in place of each import."""

    def __init__(self, stream: Any, listing: _Imports) -> None:
        super().__init__(stream, encoding="utf-8")
        self._listing = listing

    def find_class(self, module: str, name: str) -> Any:
        self._listing.add(module, name)
        return _Import(f"{module}.{name}", (_Result,), {"listing": self._listing})

    def persistent_load(self, pid: Any) -> Any:
        self._listing.add_nested(pid)
        return _Result()


def _unsettable(_: object) -> Any:
    raise UnlistableError("it changes what it imports")


class _Import(type):
    """The class of the classes in place of imports.  A pickle that sets attributes of one changes what others do."""

    __setstate__ = property(_unsettable)
    append = extend = add = property(_unsettable)

    def __setitem__(cls, key: object, value: object) -> None:
        _unsettable(cls)


class _Result:
    """The result of a call of an import, or an instance of it: takes all that a pickle can do to it."""

    listing: _Imports | None = None

    def __new__(cls, *values: object, **named: object) -> Any:
        made = super().__new__(cls)
        made._check((values, named))
        return made

    def __init__(self, *values: object, **named: object) -> None:
        pass

    def __call__(self, *values: object, **named: object) -> _Result:
        self._check((values, named))
        return self

    def __setstate__(self, state: object) -> None:
        self._check(state)

    def __setitem__(self, key: object, value: object) -> None:
        self._check((key, value))

    def append(self, value: object) -> None:
        self._check(value)

    def extend(self, values: object) -> None:
        self._check(values)

    def add(self, value: object) -> None:
        self._check(value)

    def _check(self, value: object) -> None:
        if self.listing is not None:
            self.listing.add_nested(value)


def limited(allowed: Iterable[Import]) -> type[pickle.Unpickler]:
    """An unpickler that imports only these."""
    names = frozenset(allowed)

    class Unpickler(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if (module, name) not in names:
                raise NotListedError(f"{shown(module, name)} was not listed")
            value = super().find_class(module, name)
            # A module may have imported something under a name of its own.
            real = str(getattr(value, "__module__", "")), str(getattr(value, "__qualname__", ""))
            if not is_dangerous(module, name) and _can_run_anything(*real):
                raise NotListedError(f"{shown(module, name)} is {shown(*real)}")
            return value

    return Unpickler


def enforce(allowed: Iterable[Import]) -> None:
    """From now on, pickles of this process import only these; also those that what they import loads."""
    unpickler = limited(allowed)

    def load(file: Any, **options: Any) -> Any:
        return unpickler(file, **options).load()

    def loads(data: Any, /, **options: Any) -> Any:
        return unpickler(io.BytesIO(data), **options).load()

    replaced: dict[str, Callable[..., Any]] = {"Unpickler": unpickler, "load": load, "loads": loads}
    for name, value in replaced.items():
        setattr(pickle, name, value)
