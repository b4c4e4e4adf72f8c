"""Properties of a regular expression, from its text: the literals that each match contains, and whether it may take too
long.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

with warnings.catch_warnings():
    # `re._parser` since Python 3.11, which has no public name; `sre_parse` before.
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_constants as _constants
    import sre_parse as _parser

# With shorter ones, nearly every line is a candidate.
SHORTEST_LITERAL = 5
# A pattern is tried on a few hundred characters, where two of them still take less than a second.
_MOST_UNBOUNDED = 2
# CJK radicals, the first block of them.
_FIRST_WIDE = "\u2e80"
_SPECIAL = re.compile(rb"[][\\.*^$+?(){}|]")
_BEYOND_ASCII = range(128, 256)
_CATEGORIES = {
    _constants.CATEGORY_DIGIT: b"0123456789",
    _constants.CATEGORY_SPACE: b" \t\r\f\v",
    _constants.CATEGORY_WORD: bytes(
        code for code in range(128) if chr(code).isalnum() or code == ord("_")
    ),
}
# The characters of a terminal's sequence, such as ESC[31m.
_COLOURS = b"\x1b[;0123456789m"
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
# `.{0,200}` is bounded enough.
_BOUND = 200
# In how many ways the repeats may split a text. A search that fails tries them all, 2 million of them in half a second.
_MOST_SPLITS = 2_000_000


class PatternError(ValueError):
    """The pattern can't be used; the text says why, in words for the author of the rule."""


def literals_of(pattern: str) -> tuple[str, ...]:
    """Texts of which every match of `pattern` contains at least one.

    Raises PatternError for a pattern that isn't valid, may take too long, or has no literal of five characters.
    """
    try:
        parsed = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(f"it isn't a valid regular expression: {error}") from error
    _check_time(parsed)
    if parsed.state.flags & re.IGNORECASE:
        raise PatternError("it ignores case; write [Ee]rror where both occur")
    literals = _literals(parsed)
    if not literals or min(map(_weight, literals)) < SHORTEST_LITERAL:
        raise PatternError(f"it needs a literal text of {SHORTEST_LITERAL} or more characters")
    return tuple(dict.fromkeys(literals))


@lru_cache(2048)
def grep_form(pattern: str) -> bytes:
    """An expression of `grep -E` in the C locale that is in each line with a match of `pattern`, and in few others.

    Lengths of repeats, places and look-arounds don't count, nor colours between words, nor what is before the first text:
    where an expression may begin anywhere, grep 3.8 takes the square of a line's length, 50 s for 180 kB.
    """
    items: Any = _parser.parse(pattern)
    first = next((at for at, item in enumerate(items) if _begins_with_text(*item)), 0)
    return _form(items[first:])


def _begins_with_text(operation: Any, value: Any) -> bool:
    return operation is _constants.LITERAL or bool(_inner_literals(operation, value))


def _form(items: Any) -> bytes:
    return b"".join(_form_of(operation, value) for operation, value in items)


def _form_of(operation: Any, value: Any) -> bytes:
    if operation is _constants.LITERAL:
        letter = chr(value).encode()
        return (
            _set({*_COLOURS, value}) + b"+" if letter == b" " else _SPECIAL.sub(rb"\\\g<0>", letter)
        )
    if operation is _constants.BRANCH:
        return b"(" + b"|".join(map(_form, value[1])) + b")"
    if operation is _constants.SUBPATTERN and not value[1] & re.IGNORECASE:
        return b"(" + _form(value[3]) + b")"
    if operation in _REPEATS:
        return b"(" + _form(value[2]) + (b")+" if value[0] else b")*")
    if operation is _constants.IN and value[0][0] is not _constants.NEGATE:
        return _set({*_COLOURS, *(code for member in value for code in _codes(*member))}) + b"+"
    if operation in (_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT):
        return b""
    is_letter = operation in (_constants.ANY, _constants.NOT_LITERAL, _constants.IN)
    return b".+" if is_letter else b".*"


def _codes(operation: Any, value: Any) -> Sequence[int]:
    """The bytes of a member of a set; any byte beyond ASCII may be a part of a letter, digit or space."""
    if operation is _constants.CATEGORY:
        return (*_CATEGORIES.get(value, range(128)), *_BEYOND_ASCII)
    first, last = value if operation is _constants.RANGE else (value, value)
    return range(first, last + 1) if last < _BEYOND_ASCII[0] else _BEYOND_ASCII


def _set(codes: set[int]) -> bytes:
    """A bracket expression, in which the places of `]`, `^`, `[` and `-` matter."""
    order = (
        b"]",
        *(bytes([code]) for code in sorted(codes) if code not in b"]^[-\n\0"),
        b"^",
        b"[",
        b"-",
    )
    return b"[" + b"".join(each for each in order if each[0] in codes) + b"]"


def _weight(literal: str) -> int:
    """Its length, in which a letter of Chinese and other wide ones counts twice: there are so many that few lines have it."""
    return len(literal) + sum(letter >= _FIRST_WIDE for letter in literal)


def _literals(items: Any) -> list[str]:
    """The best alternatives of a sequence: those whose shortest is the longest; none if it may match anything."""
    candidates: list[list[str]] = []
    current = ""
    for operation, value in items:
        if operation is _constants.LITERAL:
            current += chr(value)
            continue
        candidates.append([current])
        current = ""
        candidates.append(_inner_literals(operation, value))
    candidates.append([current])
    return max(candidates, key=_quality)


def _inner_literals(operation: Any, value: Any) -> list[str]:
    if operation is _constants.SUBPATTERN:
        # Letters of any case would need as many literals.
        ignores_case = value[1] & re.IGNORECASE
        return [] if ignores_case else _literals(value[3])
    if operation is _constants.BRANCH:
        branches = [_literals(branch) for branch in value[1]]
        return [text for branch in branches for text in branch] if all(branches) else []
    if operation in _REPEATS and value[0] >= 1:
        return _literals(value[2])
    return []


def _quality(literals: list[str]) -> tuple[int, int]:
    return min(map(_weight, literals), default=0), -len(literals)


def _check_time(items: Any) -> None:
    if _unbounded(items, is_inside=False) > _MOST_UNBOUNDED:
        raise PatternError("it has more than two unbounded repeats; write .{0,200} in place of .*")
    _check_nested(items)
    if _splits(items) > _MOST_SPLITS:
        raise PatternError(
            "its repeats can split a text in too many ways; use fewer or shorter ones"
        )


def _check_nested(items: Any) -> None:
    for operation, value in items:
        if operation in _REPEATS:
            most = min(value[1], _BOUND)
            # 200 repeats of two ways are 2^200 ways.
            if most > 1 and _splits(value[2]) ** most > _MOST_SPLITS:
                raise PatternError("a repeat within a repeat may take for ever")
        for part in _inner(operation, value):
            _check_nested(part)


def _splits(items: Any) -> int:
    """In how many ways a sequence can match the same text, at most about."""
    splits = 1
    for operation, value in items:
        inner = [_splits(part) for part in _inner(operation, value)]
        if operation in _REPEATS:
            lengths = min(value[1], _BOUND) - min(value[0], _BOUND) + 1
            splits *= lengths * max(inner)
        elif operation is _constants.BRANCH:
            splits *= max(inner) if _starts_differ(value[1]) else sum(inner)
        elif inner:
            splits *= max(inner)
    return splits


def _starts_differ(branches: Any) -> bool:
    """Whether the first character decides which alternative matches."""
    starts = [branch[0] for branch in branches if len(branch) > 0]
    are_literals = all(operation is _constants.LITERAL for operation, _ in starts)
    return are_literals and len(branches) == len({value for _, value in starts})


def _unbounded(items: Any, is_inside: bool) -> int:
    """The number of unbounded repeats; one within another takes exponential time."""
    count = 0
    for operation, value in items:
        is_unbounded = operation in _REPEATS and value[1] > _BOUND
        if is_unbounded and is_inside:
            raise PatternError("a repeat within a repeat may take for ever")
        if operation in (_constants.GROUPREF, _constants.GROUPREF_EXISTS) and is_inside:
            raise PatternError("a back-reference within a repeat may take for ever")
        is_repeated = operation in _REPEATS and value[1] > 1
        inner = [_unbounded(part, is_inside or is_repeated) for part in _inner(operation, value)]
        # Only one of several alternatives matches.
        count += is_unbounded + max(inner, default=0)
    return count


def _inner(operation: Any, value: Any) -> list[Any]:
    if operation in _REPEATS:
        return [value[2]]
    if operation is _constants.SUBPATTERN:
        return [value[3]]
    if operation is _constants.BRANCH:
        return list(value[1])
    if operation in (_constants.ASSERT, _constants.ASSERT_NOT):
        return [value[1]]
    return []
