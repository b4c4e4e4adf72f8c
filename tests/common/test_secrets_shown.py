"""A value that holds a secret does not show it: whoever writes one into a log or an error writes no secret."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

PACKAGE = Path(__file__).parents[2] / "pybackend" / "eagleray"
# `tokens` are what models read, or the words of a text.
SECRET = re.compile(r"token(?!s)|secret|passw|passphrase|headers|api_?key", re.IGNORECASE)
# The answer of a user to ssh may be a password, whatever its name is.
ANSWERS = {("QuestionAnswer", "text")}
WORD = "hunter2"


def is_secret(of: type, name: str) -> bool:
    return (of.__name__, name) in ANSWERS or SECRET.search(name) is not None


def names_of(of: type) -> list[str]:
    """The fields of a value type, none of any other class."""
    if attrs.has(of):
        return [field.name for field in attrs.fields(of)]
    return [field.name for field in dataclasses.fields(of)] if dataclasses.is_dataclass(of) else []


def shown(of: type) -> str:
    """Returns the `repr` of a value of that type in which every secret is the same word."""
    value: Any = object.__new__(of)
    for name in names_of(of):
        object.__setattr__(value, name, WORD if is_secret(of, name) else "")
    return repr(value)


def types_with_secrets() -> Iterator[type]:
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text("utf-8")
        if "class QuestionAnswer" not in text and not re.search(
            rf"^    \w*({SECRET.pattern})\w*: ", text, re.M | re.I
        ):
            continue
        name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        for of in vars(importlib.import_module(name)).values():
            here = isinstance(of, type) and of.__module__ == name
            if here and any(is_secret(of, field) for field in names_of(of)):
                yield of


def test_no_value_shows_its_secret() -> None:
    found = list(types_with_secrets())
    assert {"RunRegister", "ProxyClient", "Access", "QuestionAnswer", "Secrets"} <= {
        of.__name__ for of in found
    }
    assert [of for of in found if WORD in shown(of)] == []


def test_planted_record_that_shows_its_secret_is_found() -> None:
    @frozen
    class Planted:
        secret: str

    @dataclasses.dataclass
    class PlantedToo:
        auth_token: str

    assert [WORD in shown(of) for of in (Planted, PlantedToo)] == [True, True]
