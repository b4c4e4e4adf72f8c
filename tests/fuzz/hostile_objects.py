"""Objects whose code must not run when they are read, and whose memory must not be touched; imported by the process that reads.

`RAN` names each function of these objects that has run: the witness.
"""

from __future__ import annotations

import array
import asyncio
import collections
import contextlib
import ctypes
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import mmap
import os
import re
import sys
import tempfile
import threading
import types
import warnings
import weakref
from typing import Any
from unittest import mock

RAN: list[str] = []

# Methods that Python calls on an object, and what each returns.
_RESULTS: dict[str, Any] = {
    **dict.fromkeys(("__repr__", "__str__", "__format__"), "hostile"),
    **dict.fromkeys(("__bytes__",), b"hostile"),
    **dict.fromkeys(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"), True),
    **dict.fromkeys(("__bool__", "__contains__", "__instancecheck__", "__subclasscheck__"), True),
    **dict.fromkeys(("__len__", "__length_hint__", "__index__", "__int__", "__round__"), 1),
    **dict.fromkeys(("__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__")),
    **dict.fromkeys(("__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__neg__", "__pos__")),
    **dict.fromkeys(("__invert__", "__abs__", "__call__", "__getitem__", "__missing__")),
    **dict.fromkeys(("__getattr__", "__reduce__", "__dir__", "__sizeof__", "__array__")),
    **dict.fromkeys(("__float__", "__complex__"), 1.0),
    **dict.fromkeys(("__torch_function__", "__array_function__", "__array_ufunc__")),
}


def recorder(name: str, result: Any = None) -> Any:
    def method(*_arguments: Any, **_named: Any) -> Any:
        RAN.append(name)
        return result

    return method


def hostile(name: str, *bases: type, kind: type = type, **more: Any) -> Any:
    """A class whose every method records that it ran."""
    methods = {each: recorder(f"{name}.{each}", result) for each, result in _RESULTS.items()}
    methods["__iter__"] = recorder(f"{name}.__iter__", iter(()))
    # Equal to the names and numbers that expressions look for.
    methods["__hash__"] = lambda self: hash("a")
    methods["data"] = property(recorder(f"{name}.data"))
    methods["lazy"] = functools.cached_property(recorder(f"{name}.lazy"))
    return kind(name, bases, {**methods, **more})


class HostileMeta(type):
    __eq__ = recorder("HostileMeta.__eq__", True)
    __hash__ = recorder("HostileMeta.__hash__", 1)
    __instancecheck__ = recorder("HostileMeta.__instancecheck__", True)
    __subclasscheck__ = recorder("HostileMeta.__subclasscheck__", True)
    __getattr__ = recorder("HostileMeta.__getattr__")
    __repr__ = recorder("HostileMeta.__repr__", "hostile")
    __bool__ = recorder("HostileMeta.__bool__", True)
    __len__ = recorder("HostileMeta.__len__", 1)
    __iter__ = recorder("HostileMeta.__iter__", iter(()))


Hostile = hostile("Hostile")
HostileText = hostile("HostileText", str)
HostileNumber = hostile("HostileNumber", int)
HostileFloat = hostile("HostileFloat", float)
HostileBytes = hostile("HostileBytes", bytes)
HostileDict = hostile(
    "HostileDict",
    dict,
    **{each: recorder(f"HostileDict.{each}", []) for each in ("keys", "items", "values", "get")},
)
HostileList = hostile("HostileList", list)
HostileTuple = hostile("HostileTuple", tuple)
HostileSet = hostile("HostileSet", set)
HostileError = hostile("HostileError", Exception, args=property(recorder("HostileError.args", ())))
HostileModule = hostile("HostileModule", types.ModuleType)


class OwnAttributes:
    """Everything that is read of it goes through its own code."""

    def __getattribute__(self, name: str) -> Any:
        RAN.append(f"OwnAttributes.{name}")
        raise RuntimeError(name)


class Lies:
    """Claims to be of another class."""

    __class__ = property(recorder("Lies.__class__", int))  # type: ignore[assignment]
    __dict__ = property(recorder("Lies.__dict__", {}))  # type: ignore[assignment]


class Descriptor:
    __get__ = recorder("Descriptor.__get__")
    __set__ = recorder("Descriptor.__set__")

    def __init__(self) -> None:
        self.shape = (1,)


class OfThread(threading.local):
    def __init__(self) -> None:
        if threading.current_thread() is not threading.main_thread() or READY:
            RAN.append("OfThread.__init__")


READY: list[bool] = []


class Raw(io.RawIOBase):
    name = property(recorder("Raw.name"))  # type: ignore[assignment]
    mode = property(recorder("Raw.mode"))  # type: ignore[assignment]
    closed = property(recorder("Raw.closed", False))  # type: ignore[assignment]
    readable = recorder("Raw.readable", True)
    fileno = recorder("Raw.fileno", 0)
    isatty = recorder("Raw.isatty", False)
    __repr__ = recorder("Raw.__repr__", "")
    # Ends with the process, after all was checked.
    close = flush = lambda self: None


class Zone(datetime.tzinfo):
    utcoffset = recorder("Zone.utcoffset")
    tzname = recorder("Zone.tzname")
    dst = recorder("Zone.dst")


class Mapping(collections.abc.Mapping):  # type: ignore[type-arg]
    __getitem__ = recorder("Mapping.__getitem__")
    __iter__ = recorder("Mapping.__iter__", iter(()))
    __len__ = recorder("Mapping.__len__", 1)
    __eq__ = recorder("Mapping.__eq__", True)  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Color(enum.Enum):
    A = 1
    value_ = property(recorder("Color.value_"))


class Ending:
    """Its finalizer is code of the program, too."""

    def __del__(self) -> None:
        RAN.append("Ending.__del__")


def objects() -> dict[str, Any]:
    """The objects by name; nothing of them has run when it returns."""
    made = {**_plain(), **_hostile(), **_c_objects(), **_endless()}
    for library in (_of_numpy, _of_torch):
        with contextlib.suppress(ImportError):
            made.update(library())
    RAN.clear()
    READY.append(True)
    return made


def _plain() -> dict[str, Any]:
    return {
        "a": 3,
        "text": "a text of words",
        "raw": b"bytes",
        "number": 2.5,
        "items": [1, 2.0, "a", None],
        "pairs": {"a": 1, 2: "b", None: [3]},
        "ordered": collections.OrderedDict(a=1, b=2),
        "row": collections.namedtuple("row", "a b")(1, [2]),
        "queue": collections.deque([1, 2], 5),
        "some": {1, 2, "a"},
        "space": types.SimpleNamespace(a=1, b=[2]),
        "counter": collections.Counter("aab"),
        "default": collections.defaultdict(list, a=[1]),
        "part": slice(1, None, 2),
        "color": Color.A,
        "Color": Color,
        "when": datetime.datetime(2026, 1, 2, tzinfo=Zone()),
        "exact": decimal.Decimal("1.5"),
        "ratio": fractions.Fraction(1, 3),
    }


def _hostile() -> dict[str, Any]:
    own = Hostile()
    own.__dict__ = HostileDict(a=1)
    by_text = {HostileText("a"): 1, "b": 2, HostileNumber(1): 3, own: 4}
    has_keys = Hostile()
    has_keys.__dict__.update(dict.copy(by_text))
    named: Any = types.FunctionType((lambda: None).__code__, {})
    named.__qualname__ = HostileText("a")
    module = types.ModuleType("plain")
    module.__dict__["__name__"] = HostileText("a")
    renamed = type("Renamed", (), {HostileText("a"): 1, "__module__": HostileText("a")})
    renamed.__name__ = renamed.__qualname__ = HostileText("a")
    error = HostileError("a", Hostile())
    error.__cause__ = error.__context__ = HostileError(Hostile())
    holder = mock.MagicMock()
    object.__setattr__(holder, "a", own)
    return {
        "own": own,
        "hostile": Hostile(),
        "Hostile": Hostile,
        "of_meta": HostileMeta("OfMeta", (), {})(),
        "OfMeta": HostileMeta("OfMeta", (), {}),
        "htext": HostileText("a"),
        "hnumber": HostileNumber(3),
        "hfloat": HostileFloat(2.0),
        "hbytes": HostileBytes(b"a"),
        "hdict": HostileDict(a=1),
        "hlist": HostileList([1, 2]),
        "htuple": HostileTuple((1, 2)),
        "hset": HostileSet((1, 2)),
        "herror": error,
        "hmodule": HostileModule("a"),
        "module": module,
        "function": named,
        "renamed": renamed(),
        "Renamed": renamed,
        "by_text": by_text,
        "has_keys": has_keys,
        "hkeys": {HostileText("a"), own},
        "hitems": [Hostile(), HostileText("a"), 1, own],
        "hnested": [[Hostile()], (HostileText("a"),), {"a": Hostile()}],
        "hslice": slice(Hostile(), HostileNumber(1)),
        "attributes": OwnAttributes(),
        "lies": Lies(),
        "described": type("Described", (), {"a": Descriptor(), "b": recorder("b")})(),
        "of_thread": OfThread(),
        "proxy_of": types.MappingProxyType(Mapping()),
        "chain": collections.ChainMap(HostileDict(), Mapping()),  # type: ignore[arg-type]
        "mock": holder,
        "weak": weakref.proxy(_KEPT),
        "reference": weakref.ref(_KEPT),
        "bound": functools.partial(recorder("partial"), a=1),
        "method": Hostile().__repr__,
        "builtin": HostileList().append,
        "ending": [Ending()],
        "property": property(recorder("property")),
        "alias": list[HostileMeta("OfMeta", (), {})],  # type: ignore[misc]
    }


_KEPT = Hostile()


def _c_objects() -> dict[str, Any]:
    pointer, wide = ctypes.c_char_p(), ctypes.c_wchar_p()
    for each in (pointer, wide):
        ctypes.memmove(ctypes.byref(each), (0x12345).to_bytes(8, "little"), 8)
    structure = type("Structure", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_char_p)]})()
    ctypes.memmove(ctypes.byref(structure), (0x12345).to_bytes(8, "little"), 8)
    wild = ctypes.cast(0x12345, ctypes.POINTER(ctypes.c_int))
    closed = mmap.mmap(-1, 4096)
    closed.close()
    released = memoryview(b"abc")
    released.release()
    reader = io.BufferedReader(Raw())
    return {
        "pointer": pointer,
        "wide": wide,
        "structure": structure,
        "wild": wild,
        "python": ctypes.py_object.from_buffer(bytearray((0x12345).to_bytes(8, "little"))),
        "closed": closed,
        "truncated": truncated_map(),
        "released": released,
        "view": memoryview(bytearray(8)).cast("i"),
        "array": array.array("d", [1, 2]),
        "reader": reader,
        "wrapper": io.TextIOWrapper(io.BufferedReader(Raw())),
        "random": io.BytesIO(b"abc"),
        "match": re.match("(a)", "a"),
        "generator": (recorder("generator")() for _ in range(3)),
        "coroutine": _coroutine(),
        "iterator": iter(HostileList([1])),
        "zipped": zip([1], HostileList([2]), strict=True),
        "counted": itertools.count(),
        "mapped": map(recorder("map"), [1, 2]),
        "frame": sys._getframe(),
        "code": recorder.__code__,
        "cell": (lambda value: lambda: value)(Hostile()).__closure__,
        "lock": threading.Lock(),
        "thread": threading.main_thread(),
        "class_body": _class_body(),
        "stdout": sys.stdout,
    }


def _coroutine() -> Any:
    async def run() -> None:
        await asyncio.sleep(0)

    made = run()
    # Its end is none of what is tried.
    _COROUTINES.append(made)
    return made


_COROUTINES: list[Any] = []


def _class_body() -> Any:
    class Meta(type):
        @classmethod
        def __prepare__(cls, *_: Any) -> Any:
            return HostileDict()

    frames: list[Any] = []
    try:
        Meta("Made", (), {})
        exec(
            "class Made(metaclass=Meta):\n    a = 1\n    keep()",
            {"Meta": Meta, "keep": lambda: frames.append(sys._getframe(1))},
        )
    except TypeError:
        pass
    return frames[0] if frames else None


def truncated_map() -> mmap.mmap:
    """A map whose file has no byte left: reading it is a SIGBUS."""
    with tempfile.TemporaryFile() as file:
        file.write(bytes(8192))
        file.flush()
        made = mmap.mmap(file.fileno(), 8192)
        os.ftruncate(file.fileno(), 0)
    return made


def _endless() -> dict[str, Any]:
    cycle: list[Any] = [1]
    cycle.append(cycle)
    loop: dict[str, Any] = {"a": 1}
    loop["loop"] = loop
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    error = ValueError()
    error.args = (error, [error])
    # All have the hash of 0.
    same_hash = [step * (2**61 - 1) for step in range(50_000)]
    return {
        "cycle": cycle,
        "loop": loop,
        "deep": _kept(deep),
        "error": error,
        "wide_list": [list(range(2000))] * 5000,
        "large": list(range(3_000_000)),
        "large_text": "ab" * 5_000_000,
        "texts": ["x" * 60_000 + str(index) for index in range(50)],
        "large_dict": dict.fromkeys(range(700_000)),
        "large_set": set(range(700_000)),
        "same_hash": same_hash,
        "endless": range(10**18),
        "huge": (1 << 5_000_000) - 1,
        "half": (1 << 1_500_000) - 1,
        "parents": _nested_classes(),
    }


def _kept(deep: list[Any]) -> list[Any]:
    # Freeing it at the end is Python's own business.
    _DEEP.append(deep)
    return deep


_DEEP: list[Any] = []


def _nested_classes() -> Any:
    made: type = object
    for number in range(300):
        made = type(f"Level{number}", (made,), {"a": number})
    return made()


def _of_numpy() -> dict[str, Any]:
    import numpy

    dead = memoryview(mmap.mmap(-1, 8192))
    unmapped = numpy.ndarray((1000,), dtype="f8", buffer=mmap_that_is_closed())
    file_map = numpy.frombuffer(truncated_map(), dtype="u1")
    hostile_class = hostile("HostileArray", numpy.ndarray)
    return {
        "n": numpy.arange(12.0).reshape(3, 4),
        "n_int": numpy.arange(12, dtype="i4").reshape(3, 4),
        "n_mask": numpy.arange(12).reshape(3, 4) % 2 == 0,
        "n_back": numpy.arange(24).reshape(4, 6)[::-1, ::-2],
        "n_big_endian": numpy.arange(3, dtype=">f4"),
        "n_live": numpy.frombuffer(dead, dtype="i4"),
        "n_dead": unmapped,
        "n_part": unmapped[3:],
        "n_truncated": file_map,
        "n_objects": numpy.array([recorder("item"), HostileText("a")], dtype=object),
        "n_rows": numpy.zeros(3, dtype=[("a", "i4"), ("b", "O")]),
        "n_field": numpy.zeros(3, dtype=[("a", "i4"), ("b", "i1")])["a"],
        "n_huge": numpy.broadcast_to(numpy.float32(1), (10**6, 10**6)),
        "n_empty": numpy.zeros((0, 5)),
        "n_none": numpy.broadcast_to(numpy.float32(1), (10**9, 0)),
        "n_masked": numpy.ma.masked_array([1, 2], [0, 1]),
        "n_own": numpy.arange(3).view(hostile_class),
        "n_scalar": numpy.float32(1.5),
        "n_int8": numpy.int8(100),
        "n_long": numpy.longdouble(1),
        "n_date": numpy.datetime64("2026-01-01"),
        "n_text": numpy.str_("a"),
        "n_void": numpy.zeros(1, dtype=[("a", "O")])[0],
        "n_dtype": numpy.dtype("f4"),
        "n_complex": numpy.array([1j]),
        "n_texts": numpy.array(["a", "b"]),
    }


def mmap_that_is_closed() -> Any:
    """A buffer that is gone when the array that was made of it is used."""
    made = mmap.mmap(-1, 8192)
    _CLOSED.append(made)
    return made


_CLOSED: list[mmap.mmap] = []


def _of_torch() -> dict[str, Any]:
    import torch

    # Quantized tensors are deprecated.
    warnings.simplefilter("ignore")
    for each in _CLOSED:
        with contextlib.suppress(BufferError):
            each.close()
    freed = torch.ones(1000)
    part = freed[10:20]
    freed.untyped_storage().resize_(0)
    shrunk = torch.ones(1000)
    shrunk.untyped_storage().resize_(40)
    hostile_class = hostile(
        "HostileTensor",
        torch.Tensor,
        __torch_function__=classmethod(recorder("HostileTensor.__torch_function__")),
    )
    parameter = torch.nn.Parameter(torch.ones(2, 3))
    made = {
        "t": torch.arange(12.0).reshape(3, 4),
        "t_int": torch.arange(12).reshape(3, 4),
        "t_mask": torch.arange(12).reshape(3, 4) % 2 == 0,
        "t_half": torch.arange(6).bfloat16(),
        "t_freed": freed,
        "t_part": part,
        "t_shrunk": shrunk,
        "t_wide": torch.zeros(1, 3_000_000, dtype=torch.int8),
        "t_huge": torch.zeros(1).expand(10**6, 10**6),
        "t_meta": torch.empty(3, device="meta"),
        "t_sparse": torch.eye(3).to_sparse(),
        "t_quantized": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
        "t_complex": torch.ones(3, dtype=torch.complex64),
        "t_negative": torch.ones(3, dtype=torch.complex64).conj().imag,
        "t_parameter": parameter,
        "t_result": parameter.sum(),
        "t_lazy": torch._lazy_clone(torch.ones(3)),
        "t_own": torch.ones(3).as_subclass(hostile_class),
        "t_nan": torch.tensor([1.0, float("nan"), float("-inf")]),
        "t_module": torch.nn.Linear(3, 2),
        "t_size": torch.Size((2, 3)),
        "t_dtype": torch.float32,
        "t_device": torch.device("cpu"),
        "t_storage": torch.ones(3).untyped_storage(),
    }
    # Functions of PyTorch that the program has replaced.
    for name in ("sum", "mean", "__getitem__", "__len__", "item", "detach", "numpy", "abs", "max"):
        setattr(torch.Tensor, name, recorder(f"Tensor.{name}"))
    warnings.simplefilter("default")
    return made
