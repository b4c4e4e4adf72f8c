"""A concept has one record: two records share less than 60 % of the fields of the smaller one.

A record may extend another, whose fields are then declared once.  Records of fewer than eight fields aren't compared,
nor are classes that can be changed.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import frozen

PACKAGE = Path(__file__).parents[2] / "pybackend" / "eagleray"
FEWEST_FIELDS = 8
LARGEST_SHARE = 0.6
_DECORATORS = ("dataclass", "frozen")

# The docstring of one of both names the other one, with the reason.
SEPARATE = {
    ("Attachment", "RunWorkerStatus"),
    ("Attachment", "WorkerState"),
    ("LiveWorker", "TaskRow"),
    ("LiveWorker", "WorkerRow"),
    ("LiveWorker", "WorkerState"),
    ("PausedWorker", "RunWorkerStatus"),
    ("PausedWorker", "WorkerRow"),
    ("PausedWorker", "WorkerState"),
    ("PdbTarget", "WaitingPdb"),
    ("ProcessInfo", "RunWorkerStatus"),
    ("ProfiledWorker", "WorkerProfile"),
    ("RunWorkerState", "RunWorkerStatus"),
    ("RunWorkerStatus", "WorkerState"),
    ("TaskRow", "WorkerRow"),
}


@frozen
class Declared:
    """A record as it is declared: its own fields, the records that it extends, and its docstring."""

    name: str
    fields: tuple[str, ...]
    bases: tuple[str, ...]
    doc: str = ""


def test_a_concept_has_one_record() -> None:
    assert similar_pairs(_all_records()) - SEPARATE == set()


def test_each_listed_pair_is_similar() -> None:
    assert SEPARATE - similar_pairs(_all_records()) == set()


def test_docstring_of_a_listed_pair_has_the_reason() -> None:
    records = {record.name: record for record in _all_records()}
    assert [
        (a, b) for a, b in SEPARATE if b not in records[a].doc and a not in records[b].doc
    ] == []


def test_similar_records_are_reported() -> None:
    text = """
@frozen
class First:
    a: int; b: int; c: int; d: int; e: int; f: int; g: int; h: int
@dataclass(frozen=True)
class Second:
    a: int; b: int; c: int; d: int; e: int; u: int; v: int; w: int
class Third(NamedTuple):
    a: int; b: int; c: int; d: int; w: int; x: int; y: int; z: int
class NoRecord:
    a: int; b: int; c: int; d: int; e: int; f: int; g: int; h: int
"""
    assert similar_pairs(records_of(text)) == {("First", "Second"), ("Second", "Third")}


def test_inherited_fields_are_declared_once() -> None:
    text = """
@frozen
class Base:
    a: int; b: int; c: int; d: int; e: int; f: int; g: int
@frozen
class First(Base):
    x: int; limit: ClassVar[int]
@frozen
class Second(Base):
    x: int
@frozen
class Copy:
    a: int; b: int; c: int; d: int; e: int; x: int; y: int; z: int
"""
    assert similar_pairs(records_of(text)) == {("Copy", "First"), ("Copy", "Second")}


def similar_pairs(records: Iterable[Declared]) -> set[tuple[str, str]]:
    """Returns the names of each two records that share too many fields, in alphabetical order."""
    by_name = {record.name: record for record in records}
    fields = {name: _fields(name, by_name) for name in sorted(by_name)}
    large = {name: own for name, own in fields.items() if len(own) >= FEWEST_FIELDS}
    return {
        (a, b)
        for a, b in itertools.combinations(large, 2)
        if _shared(large[a], large[b]) >= LARGEST_SHARE * min(len(large[a]), len(large[b]))
    }


def _shared(a: Mapping[str, str], b: Mapping[str, str]) -> int:
    """Returns the number of fields that both records declare; one that both inherit is declared once."""
    return sum(field in b and b[field] != declared_in for field, declared_in in a.items())


def _fields(name: str, records: Mapping[str, Declared]) -> dict[str, str]:
    """Returns the record that declares each field."""
    record = records[name]
    inherited = [_fields(base, records) for base in record.bases if base in records]
    return {
        **{field: owner for fields in inherited for field, owner in fields.items()},
        **dict.fromkeys(record.fields, name),
    }


def _all_records() -> list[Declared]:
    texts = (path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    return [record for text in texts for record in records_of(text)]


def records_of(text: str) -> list[Declared]:
    """Returns the records that a module declares: classes of attrs, dataclasses and named tuples."""
    return [
        Declared(
            node.name,
            tuple(_field_names(node)),
            tuple(map(ast.unparse, node.bases)),
            ast.get_docstring(node) or "",
        )
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and _is_record(node)
    ]


def _is_record(node: ast.ClassDef) -> bool:
    decorators = (ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list)
    is_tuple = any(ast.unparse(base) == "NamedTuple" for base in node.bases)
    return is_tuple or any(name in _DECORATORS for name in decorators)


def _field_names(node: ast.ClassDef) -> Iterable[str]:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(ast.Name(name), annotation):
                if not ast.unparse(annotation).startswith("ClassVar"):
                    yield name
