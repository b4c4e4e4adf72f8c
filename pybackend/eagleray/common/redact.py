"""Hiding of secrets: values of `*KEY* *TOKEN* *SECRET* *PASSWORD*` never reach a view, a log or a report."""

from __future__ import annotations

from collections.abc import Mapping


def redact_env(env: Mapping[str, str]) -> dict[str, str]:
    """`env` with `…` for the value of every name that sounds secret."""
    raise NotImplementedError


def redact_text(text: str) -> str:
    """`text` with `…` in place of values: `NAME_TOKEN=value`, `"api_key": "value"`, `Bearer value`."""
    raise NotImplementedError
