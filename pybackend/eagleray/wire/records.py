"""Copies the fields that two records share."""

from __future__ import annotations

from typing import Any

from attrs import fields


def fields_in(record: Any, kind: type) -> dict[str, Any]:
    """Returns the fields of `kind` as `record` has them, by name; one of both extends the other, or both the same."""
    return {field.name: getattr(record, field.name) for field in fields(kind)}
