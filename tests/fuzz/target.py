"""The target of fuzzing: a parser of foreign input, good inputs to begin with, and what it may raise."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fuzz import mutation

Kind = Literal["text", "bytes", "value", "json"]

# Texts that are JSON, or nearly, and break parsers by their form alone.
FORMS = ("[" * 3000, '{"a":' * 3000, "1" * 5000, "[1e999]", "[NaN]", '["\\ud800"]', "\ufeff{}", "")


@dataclass(frozen=True)
class Target:
    """`check` takes one input and asserts the laws that hold for it; only `allowed` may come out of it.

    An input is a text, bytes, a JSON value, or the text of a JSON value, which is changed as a value so that
    what lies behind the parsing of the text is reached.  `words` are tokens of the format.
    """

    name: str
    kind: Kind
    check: Callable[[Any], object]
    seeds: Sequence[Any]
    allowed: tuple[type[Exception], ...] = ()
    words: Sequence[str] = ()

    def run(self, found: Any) -> None:
        """Raises what is a fault."""
        try:
            self.check(found)
        except self.allowed:
            return

    def mutated(self, rand: random.Random, pool: Sequence[Any]) -> Any:
        found = rand.choice(pool)
        if self.kind == "bytes":
            return mutation.data(rand, found, pool, self.words)
        if self.kind == "value":
            return mutation.value(rand, found, pool)
        if self.kind == "json":
            return self._mutated_json(rand, found, pool)
        return mutation.text(rand, found, pool, self.words)

    def _mutated_json(self, rand: random.Random, found: str, pool: Sequence[str]) -> str:
        """Mostly the text of another value, at times a text that isn't JSON any more."""
        chance = rand.random()
        if chance < 0.02:
            return rand.choice(FORMS)
        try:
            value = json.loads(found)
            other = json.loads(rand.choice(pool))
        except (ValueError, RecursionError):
            return mutation.text(rand, found, pool)
        changed = json.dumps(mutation.value(rand, value, [other]))[: 10 * mutation.LONGEST]
        return mutation.text(rand, changed, pool) if chance < 0.12 else changed

    def stored(self, found: Any) -> bytes:
        """The content of a file from which `loaded` gets the input back."""
        if self.kind == "bytes":
            return bytes(found)
        text = json.dumps(found) if self.kind == "value" else str(found)
        return text.encode("utf-8", "surrogatepass")

    def loaded(self, content: bytes) -> Any:
        if self.kind == "bytes":
            return content
        text = content.decode("utf-8", "surrogatepass")
        return json.loads(text) if self.kind == "value" else text


def of_json(
    name: str,
    check: Callable[[str], object],
    values: Sequence[Any],
    allowed: tuple[type[Exception], ...] = (),
) -> Target:
    """A target for the texts of JSON values."""
    return Target(name, "json", check, [json.dumps(value) for value in values], allowed)


@dataclass(frozen=True)
class Stateful:
    """A fuzzer that keeps a process or a session over its inputs, such as one of debug adapter requests.

    `run(seconds, seed)` returns how many inputs it tried, and one text for each fault.
    """

    name: str
    run: Callable[[float, int], tuple[int, list[str]]] = field(repr=False)
