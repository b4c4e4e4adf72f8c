"""The shapes of `--json`: what scripts may rely on, independent of what editor and sidecar exchange.

Each shape lists its fields with their meaning, which `eagleray schema NAME` prints. A field is added
by adding a line to the `shapes` of its area; none is renamed or removed without an entry in CHANGELOG.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import asdict, frozen

# The version of all shapes; a new one when a field is renamed, removed or gets another meaning.
VERSION = 1
Json = dict[str, Any]


@frozen
class Field:
    """A field: its meaning, its JSON type ("string", "integer or null"), and the fields of the objects in it."""

    meaning: str
    type: str = "string"
    fields: tuple[str, ...] = ()


Shape = dict[str, Field]
VERSIONED = {"version": Field(f"version of this format: {VERSION}", "integer")}
INTEGER = "integer"
NUMBER_OR_NULL = "number or null"
INTEGER_OR_NULL = "integer or null"
WARNING = ("code", "message", "next_step")


def only(values: Json, names: Iterable[str]) -> Json:
    return {name: values[name] for name in names}


def shaped(record: Any, shape: Iterable[str], **instead: object) -> Json:
    """The fields of `record` that the shape names, in its order."""
    values = {"version": VERSION, **asdict(record), **instead}
    return {name: values[name] for name in shape}
