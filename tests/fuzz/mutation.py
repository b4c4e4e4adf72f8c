"""Mutations of texts, bytes and JSON values: small changes to good inputs, and values that parsers are known to trip over."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

# No input grows beyond this by mutation.
LONGEST = 20_000
MOST_CHANGES = 6

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.5, -0.0, float("inf"), float("-inf"), float("nan")),
    *(2**31, 2**53, 2**63, 2**64, 10**400, -(10**400), 1e308, 5e-324),
    *("", " ", "\0", "\ud800", "a" * 5000, "../../etc/passwd", "\x1b[2J", "\u202e", "é", "0", "-1"),
    *("1e400", "٣", "nan", "true", "{", "[", [], {}, [[]], [None], {"": ""}, [{}], [[], {}]),
)
ODD_TEXTS: tuple[str, ...] = (
    *("\0", "\n", "\r\n", "\r", "\t", " ", "\\", "'", '"', "`", "$(", "${", "{", "}", "[", "]"),
    *("(", ")", "<", ">", "<<", "|", "&", ";", ":", "=", ",", ".", "..", "/", "//", "-", "--", "%"),
    *("\ud800", "\u202e", "\u2028", "\x1b[", "\x1b]0;x\x07", "\x85", "é", "٣", "²", "\U0001f980"),
    *("0", "1", "-1", "9" * 30, "9" * 500, "0x", "1e400", "inf", "nan", "null", "true", "\\ud800"),
)


def text(rand: random.Random, value: str, others: Sequence[str], words: Sequence[str] = ()) -> str:
    """A changed `value`; `words` are tokens of its format, `others` further inputs to cross it with."""
    for _ in range(rand.randint(1, MOST_CHANGES)):
        change = rand.choice(_TEXT_CHANGES)
        value = change(rand, value, others, words)[:LONGEST]
    return value


def data(
    rand: random.Random, value: bytes, others: Sequence[bytes], words: Sequence[str] = ()
) -> bytes:
    """A changed `value`, byte by byte."""
    plain = [other.decode("latin-1") for other in others]
    latin = [word.encode("utf-8", "surrogatepass").decode("latin-1") for word in words]
    changed = text(rand, value.decode("latin-1"), plain, latin)
    found = bytearray(changed.encode("utf-8", "surrogatepass") if rand.random() < 0.3 else b"")
    found = found or bytearray(changed.encode("latin-1", "replace"))
    for _ in range(rand.randint(0, 3) if found else 0):
        found[rand.randrange(len(found))] = rand.choice((0, 255, 128, rand.randrange(256)))
    return bytes(found[:LONGEST])


def value(rand: random.Random, found: Any, others: Sequence[Any]) -> Any:
    """A JSON value with some of its parts replaced, removed, repeated or moved."""
    found = copy.deepcopy(found)
    for _ in range(rand.randint(1, MOST_CHANGES)):
        places = list(_places(found))
        if not places or rand.random() < 0.02:
            found = _part(rand, found, others)
            continue
        holder, key = rand.choice(places)
        rand.choice(_VALUE_CHANGES)(rand, holder, key, others)
    return found


# --- texts --------------------------------------------------------------------------------------

TextChange = Callable[[random.Random, str, Sequence[str], Sequence[str]], str]


def _cut(rand: random.Random, found: str) -> tuple[int, int]:
    begin = rand.randint(0, len(found))
    return begin, min(len(found), begin + rand.choice((1, 1, 2, 4, 16, 64, 1000)))


def _remove(rand: random.Random, found: str, *_: Sequence[str]) -> str:
    begin, end = _cut(rand, found)
    return found[:begin] + found[end:]


def _truncate(rand: random.Random, found: str, *_: Sequence[str]) -> str:
    return found[: rand.randint(0, len(found))]


def _insert(rand: random.Random, found: str, others: Sequence[str], words: Sequence[str]) -> str:
    at = rand.randint(0, len(found))
    word = rand.choice(words if words and rand.random() < 0.6 else ODD_TEXTS)
    return found[:at] + word + found[at:]


def _repeat(rand: random.Random, found: str, *_: Sequence[str]) -> str:
    begin, end = _cut(rand, found)
    most = max(1, min(LONGEST - len(found), LONGEST) // max(1, end - begin))
    return found[:begin] + found[begin:end] * min(most, rand.choice((2, 3, 10, 1000))) + found[end:]


def _replace(rand: random.Random, found: str, others: Sequence[str], words: Sequence[str]) -> str:
    begin, end = _cut(rand, found)
    word = rand.choice(words if words and rand.random() < 0.6 else ODD_TEXTS)
    return found[:begin] + word + found[end:]


def _swap(rand: random.Random, found: str, *_: Sequence[str]) -> str:
    lines = found.split("\n")
    one, other = rand.randrange(len(lines)), rand.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _cross(rand: random.Random, found: str, others: Sequence[str], *_: Sequence[str]) -> str:
    other = rand.choice(others) if others else found
    return found[: rand.randint(0, len(found))] + other[rand.randint(0, len(other)) :]


_TEXT_CHANGES: tuple[TextChange, ...] = (
    *(_remove, _truncate, _insert, _insert, _repeat, _replace, _replace, _swap, _cross),
)

# --- values -------------------------------------------------------------------------------------

ValueChange = Callable[[random.Random, Any, Any, Sequence[Any]], None]


def _places(found: Any) -> list[tuple[Any, Any]]:
    """Every part of a value, as the list or object that holds it and its key there."""
    places: list[tuple[Any, Any]] = []
    waiting = [found]
    while waiting:
        holder = waiting.pop()
        keys: Any = ()
        if isinstance(holder, dict):
            keys = list(holder)
        elif isinstance(holder, list):
            keys = range(len(holder))
        for key in keys:
            places.append((holder, key))
            waiting.append(holder[key])
    return places


def _part(rand: random.Random, before: Any, others: Sequence[Any]) -> Any:
    """A value that is odd, another part of a good input, or a changed text."""
    kind = rand.random()
    if kind < 0.15 and others:
        places = _places(rand.choice(others))
        if places:
            holder, key = rand.choice(places)
            return copy.deepcopy(holder[key])
    if kind < 0.45 and isinstance(before, str):
        return text(rand, before, ())
    if kind < 0.55 and isinstance(before, int) and not isinstance(before, bool):
        return before + rand.choice((-1, 1, 2**31, -(2**31), 2**63))
    if kind < 0.65:
        return [before] * rand.choice((1, 2, 50))
    return copy.deepcopy(rand.choice(ODD_VALUES))


def _set(rand: random.Random, holder: Any, key: Any, others: Sequence[Any]) -> None:
    holder[key] = _part(rand, holder[key], others)


def _delete(rand: random.Random, holder: Any, key: Any, others: Sequence[Any]) -> None:
    del holder[key]


def _rename(rand: random.Random, holder: Any, key: Any, others: Sequence[Any]) -> None:
    if isinstance(holder, dict):
        holder[rand.choice((f"{key}x", str(key).upper(), "", "\ud800"))] = holder.pop(key)


def _grow(rand: random.Random, holder: Any, key: Any, others: Sequence[Any]) -> None:
    if isinstance(holder, list):
        holder.extend(copy.deepcopy(holder[: rand.choice((1, 5, 100))]))
        del holder[500:]
    else:
        holder[f"{key}{len(holder)}"] = copy.deepcopy(holder[key])


_VALUE_CHANGES: tuple[ValueChange, ...] = (_set, _set, _set, _delete, _rename, _grow)
