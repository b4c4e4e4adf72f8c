"""Prints the requests and records of each feature as TypeScript: one `messages.ts` per `messages.py`."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import relpath
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs

from eagleray.wire.requests import LongRequest, Notification, Request

# The packages with requests, from the lowest up.
FEATURES = (
    "page", "clusters", "debug.workers", "debug.source_mapping", "debug.attaching", "debug.pdb", "runs",
    "runs.presets", "profile.recordings", "profile.reports", "observe.look_inside", "observe.hangs",
    "rollouts.servers", "rollouts", "doctor",
)  # fmt: skip

Declared = Request[Any, Any] | LongRequest[Any, Any] | Notification[Any]

_PRIMITIVES: dict[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    Any: "unknown",
}


def stale(root: Path) -> list[Path]:
    """The files under `root` (the repository) that are not what would be printed now."""
    return [p for p, text in _files(root) if not p.exists() or p.read_text("utf-8") != text]


def write(root: Path) -> list[Path]:
    """Prints every file; returns those that changed."""
    changed = []
    for path, text in _files(root):
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            changed.append(path)
    return changed


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    modules = {
        feature: importlib.import_module(f"eagleray.{feature}.messages") for feature in FEATURES
    }
    declared = [value for module in modules.values() for value in requests_of(module).values()]
    received = _records(map(_received, declared))
    features = features_of(modules.values())
    for feature, module in modules.items():
        yield (
            root / "extension" / _folder(feature) / "messages.ts",
            printed(module, received, features),
        )


def requests_of(module: types.ModuleType) -> dict[str, Declared]:
    """The requests and notifications that a module declares, by the names of the constants."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, Request | LongRequest | Notification)
    }


def features_of(modules: Iterable[types.ModuleType]) -> dict[type[Any], str]:
    """The feature in whose `messages.ts` each record is printed.

    1. A record of a feature: that one.
    2. A record of a layer below the features: the first of `modules` (from the lowest feature up) that uses it.
    """
    features: dict[type[Any], str] = {}
    for module in modules:
        used = [record for value in requests_of(module).values() for record in _types(value)]
        for record in _records(used):
            features.setdefault(
                record, _feature(record.__module__) or str(_feature(module.__name__))
            )
    return features


def printed(
    module: types.ModuleType, received: Sequence[type[Any]], features: Mapping[type[Any], str]
) -> str:
    """The text of `messages.ts` for one `messages` module: its requests, and the records of its feature.

    The editor may leave out fields with a default, except in the records that it also receives (`received`).
    `features`: where each record is printed.
    """
    declared = requests_of(module)
    used = [record for value in declared.values() for record in _types(value)]
    records = _records(used)
    by_name = {record.__name__: record for record in records}
    for record in records:
        assert by_name[record.__name__] is record, f"two records are named {record.__name__}"
    feature = _feature(module.__name__)
    own = sorted((r for r, printed_in in features.items() if printed_in == feature), key=_position)
    named = {*used, *(inner for record in own for inner in _fields(record))}
    path = f"pybackend/{module.__name__.replace('.', '/')}.py"
    parts = [
        f"// Printed from {path} by `npm run messages`; do not edit.",
        _imports(
            str(feature), declared, {r: features[r] for r in records if r in named and r not in own}
        ),
        "",
        *(_declaration(name, value) for name, value in declared.items()),
        *(f"\n{_interface(record, record not in received)}" for record in own),
    ]
    return "\n".join(parts) + "\n"


def _types(declared: Declared) -> list[type[Any]]:
    if isinstance(declared, Notification):
        return [declared.params]
    return [declared.params, declared.result]


def _is_notification(declared: Declared) -> bool:
    return isinstance(declared, Notification)


def _received(declared: Declared) -> type[Any]:
    """Returns the record that the editor receives."""
    return declared.params if isinstance(declared, Notification) else declared.result


def _feature(module: str) -> str | None:
    """The feature of a module, None for one of the layers below."""
    packages = [f for f in FEATURES if f"{module}.".startswith(f"eagleray.{f}.")]
    return max(packages, key=len, default=None)


def _folder(feature: str) -> str:
    return feature.replace(".", "/")


def _position(record: type[Any]) -> tuple[str, int]:
    return record.__module__, inspect.getsourcelines(record)[1]


def _imports(feature: str, declared: dict[str, Declared], foreign: Mapping[type[Any], str]) -> str:
    names = sorted(
        {"notification" if _is_notification(v) else "request" for v in declared.values()}
    )
    if any(NoneType in _types(value) for value in declared.values()):
        names.append("type Nothing")
    wire = relpath("common/wire", _folder(feature))
    lines = [f'import {{ {", ".join(names)} }} from "{wire}";']
    for other in sorted(set(foreign.values())):
        of_other = sorted(r.__name__ for r, printed_in in foreign.items() if printed_in == other)
        path = relpath(f"{_folder(other)}/messages", _folder(feature))
        path = path if path.startswith("..") else f"./{path}"
        lines.append(f'import type {{ {", ".join(of_other)} }} from "{path}";')
    return "\n".join(lines)


def _declaration(constant: str, declared: Declared) -> str:
    params = _wire_name(declared.params)
    if isinstance(declared, Notification):
        return f'export const {constant} = notification<{params}>("{declared.method}");'
    result = _wire_name(declared.result)
    return f'export const {constant} = request<{params}, {result}>("{declared.method}");'


def _wire_name(record: type[Any]) -> str:
    return "Nothing" if record is NoneType else record.__name__


def _interface(cls: type[Any], is_only_params: bool) -> str:
    """A field with a default may be left out by the editor, but is always there in our answers."""
    hints = get_type_hints(cls)
    lines = [_comment(inspect.getdoc(cls) or ""), f"export interface {cls.__name__} {{"]
    for name, has_default in _fields_of(cls):
        optional = "?" if is_only_params and has_default else ""
        lines.append(f"  readonly {name}{optional}: {_type(hints[name])};")
    return "\n".join([*lines, "}"])


def _is_record(hint: Any) -> bool:
    """Whether it is an attrs class, or a dataclass of a package that needs nothing installed."""
    return attrs.has(hint) or (isinstance(hint, type) and dataclasses.is_dataclass(hint))


def _fields_of(cls: type[Any]) -> list[tuple[str, bool]]:
    """The names of the fields of a record, and whether each has a default."""
    if attrs.has(cls):
        return [(field.name, field.default is not attrs.NOTHING) for field in attrs.fields(cls)]
    missing = dataclasses.MISSING
    return [
        (field.name, field.default is not missing or field.default_factory is not missing)
        for field in dataclasses.fields(cls)
    ]


def _comment(text: str) -> str:
    assert "*/" not in text
    paragraphs = (textwrap.wrap(paragraph, 117) for paragraph in text.split("\n\n"))
    lines = [line for paragraph in paragraphs for line in (*paragraph, "")][:-1]
    if len(lines) == 1 and len(lines[0]) <= 113:
        return f"/** {lines[0]} */"
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in lines), " */"])


def _type(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if hint in _PRIMITIVES:
        return _PRIMITIVES[hint]
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in args)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(arg) for arg in args)
    if origin is list or origin is tuple:
        inner = _type(args[0])
        return f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"
    if origin is dict:
        return f"Readonly<Record<string, {_type(args[1])}>>"
    assert _is_record(hint), f"{hint} has no wire form"
    return str(hint.__name__)


def _records(roots: Iterable[type[Any]]) -> list[type[Any]]:
    """The records among `roots` and all records that they contain."""
    records: list[type[Any]] = []
    todo = [root for root in roots if root is not NoneType]
    while todo:
        record = todo.pop(0)
        if record not in records:
            records.append(record)
            todo += _fields(record)
    return records


def _fields(record: type[Any]) -> list[type[Any]]:
    """The records that the fields of a record contain."""
    return [inner for hint in get_type_hints(record).values() for inner in _inner(hint)]


def _inner(hint: Any) -> Iterator[type[Any]]:
    if _is_record(hint):
        yield hint
    for arg in get_args(hint):
        yield from _inner(arg)


def main(arguments: list[str]) -> int:
    """`print-messages [--check]`: prints the files, or names the stale ones and how to refresh them."""
    root = Path(__file__).resolve().parents[3]
    if "--check" in arguments:
        for path in (stale_paths := stale(root)):
            sys.stderr.write(f"{path.relative_to(root)} is stale: run `npm run messages`\n")
        return 1 if stale_paths else 0
    for path in write(root):
        sys.stdout.write(f"printed {path.relative_to(root)}\n")
    return 0
