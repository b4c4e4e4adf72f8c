"""Reads the samples in a file of torch.save without torch; of its pickle nothing is imported or executed.

slime and miles write `{"rollout_id": …, "samples": [{…}, …]}` (`--save-debug-rollout-data`; slime 624b824a,
`slime/observability/rollout_data_utils.py`).  Objects of classes become their name, large tensors their shape.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any, ClassVar

from attrs import define, frozen

from eagleray.remote.injected.outside_files import opened

LARGEST = 128 * 2**20
# Each sample of 32,768 tokens has some lists of as many numbers.
_MOST_VALUES = 50_000_000
_LONGEST_TENSOR = 2**20
_DEEPEST = 20
_PICKLE = "/data.pkl"
# Storages of torch, by the format of `struct`; bfloat16 is the upper half of a float.
_FORMATS = {
    "FloatStorage": "f",
    "DoubleStorage": "d",
    "HalfStorage": "e",
    "BFloat16Storage": "H",
    "LongStorage": "q",
    "IntStorage": "i",
    "ShortStorage": "h",
    "CharStorage": "b",
    "ByteStorage": "B",
    "BoolStorage": "?",
}
_NUMPY = {"f8": "d", "f4": "f", "f2": "e", "i8": "q", "i4": "i", "b1": "?"}


def samples_in(path: Path) -> dict[str, Any] | None:
    """Blocks.  The saved object as plain values; None if it has no samples or can't be read.  Raises OSError."""
    with opened(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                value = _SampleArchive(archive).value()
        # For damaged data `pickle` and `zipfile` raise errors that their documentation (Python 3.11) doesn't list.
        except Exception:
            return None
    is_read = isinstance(value, dict) and isinstance(value.get("samples"), list)
    return value if is_read and value["samples"] else None


@define
class _SampleArchive:
    archive: zipfile.ZipFile
    root: str = ""
    count: int = 0

    def value(self) -> Any:
        name = next(name for name in self.archive.namelist() if name.endswith(_PICKLE))
        self.root = name.removesuffix(_PICKLE)
        return self._plain(_NamesOnly(io.BytesIO(self._content(name))).load(), 0)

    def _content(self, name: str) -> bytes:
        if self.archive.getinfo(name).file_size > LARGEST:
            raise ValueError(name)
        with self.archive.open(name) as file:
            return file.read(LARGEST)

    def _plain(self, value: Any, depth: int) -> Any:
        """JSON values; what a pickle has once may be in it a billion times."""
        self.count += 1
        if self.count > _MOST_VALUES or depth > _DEEPEST:
            raise ValueError
        if isinstance(value, dict):
            return {str(key): self._plain(part, depth + 1) for key, part in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self._plain(part, depth + 1) for part in value]
        if isinstance(value, _Tensor):
            return self._numbers(value)
        is_json = value is None or isinstance(value, (bool, int, float, str))
        return value if is_json else str(value)

    def _numbers(self, tensor: _Tensor) -> Any:
        """The number or numbers of a short tensor of at most one dimension, else its shape."""
        format_ = _FORMATS.get(tensor.storage.kind)
        count = tensor.shape[0] if tensor.shape else 1
        is_row = tensor.strides in ((), (1,)) and 0 <= count <= _LONGEST_TENSOR
        if format_ is None or not is_row:
            return str(tensor)
        content = self._content(f"{self.root}/data/{tensor.storage.key}")
        size = struct.calcsize(f"<{format_}")
        self.count += count
        numbers = struct.unpack_from(f"<{count}{format_}", content, tensor.start * size)
        if tensor.storage.kind == "BFloat16Storage":
            numbers = struct.unpack(
                f"<{len(numbers)}f", b"".join(struct.pack("<I", number << 16) for number in numbers)
            )
        return list(numbers) if tensor.shape else numbers[0]


@frozen
class _Storage:
    kind: str
    key: str


@frozen
class _Tensor:
    storage: _Storage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __str__(self) -> str:
        kind = self.storage.kind.removesuffix("Storage")
        return f"{kind} tensor {'x'.join(map(str, self.shape))}"


@frozen(eq=False)
class _Named:
    """In place of a class or function of a pickle, and of what they make: its name."""

    name: str
    arguments: tuple[Any, ...] = ()

    def __call__(self, *arguments: Any) -> Any:
        if self.name == "collections.OrderedDict":
            return {}
        if self.name in ("__builtin__.set", "__builtin__.frozenset"):
            return list(arguments[0])
        if self.name == "_codecs.encode":
            return str(arguments[0]).encode("latin-1")
        if self.name.startswith("torch._utils._rebuild_tensor"):
            storage, start, shape, strides = arguments[:4]
            return _Tensor(storage, int(start), tuple(shape), tuple(strides))
        if self.name.startswith("numpy.") and self.name.endswith(".multiarray.scalar"):
            dtype, content = arguments
            return struct.unpack(f"<{_NUMPY[dtype.arguments[0]]}", content)[0]
        return _Named(self.name, arguments)

    def __str__(self) -> str:
        return f"<{self.name}>"

    def __setstate__(self, _: Any) -> None: ...

    def append(self, _: Any) -> None: ...

    def __setitem__(self, _: Any, __: Any) -> None: ...


class _NamesOnly(pickle._Unpickler):
    """In Python: a few bytes make the unpickler in C reserve gigabytes (`LONG_BINPUT` with a large number, 3.11)."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def load_newobj(self: Any) -> None:
        """Calls in place of `__new__`, which names don't have."""
        arguments = self.stack.pop()
        self.stack[-1] = self.stack[-1](*arguments)

    dispatch[pickle.NEWOBJ[0]] = load_newobj

    def find_class(self, module: str, name: str) -> Any:
        return _Named(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> _Storage:
        _, kind, key = pid[:3]
        return _Storage(str(kind.name).rpartition(".")[2], str(key))
