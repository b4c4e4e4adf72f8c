"""Literals of patterns, and patterns that may take too long."""

from __future__ import annotations

import pytest
from eagleray.doctor.regex_literals import PatternError, grep_form, literals_of


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        # Three letters of Chinese are rarer than five others.
        (r"(?<!\w)段错误(?: \(吐核\)|$)", ("段错误",)),
        ("Too many open files", ("Too many open files",)),
        (r"EADDRINUSE|[Aa]ddress already in use", ("EADDRINUSE", "ddress already in use")),
        (r"(?:Failed|Unable) to connect to GCS", (" to connect to GCS",)),
        (r"rank (?P<rank>\d{1,5}) of the group failed", (" of the group failed",)),
        (r"(?<!patch )version mismatch", ("version mismatch",)),
        (r"a?(?:bcdef){2}g", ("bcdef",)),
        (r"(?:foo|bar)+ timed out", (" timed out",)),
        (r"(?:\w{1,40} ){0,3}timed out", ("timed out",)),
    ],
)
def test_each_match_has_one_of_the_literals(pattern: str, literals: tuple[str, ...]) -> None:
    assert literals_of(pattern) == literals


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a+)+ failed to start", "repeat within a repeat"),
        (r"(?:\w+\s?)* is not a rank", "repeat within a repeat"),
        (r"(?:a|b*)+ timed out", "repeat within a repeat"),
        (r"(\w)(?:x\1){2,9} timed out", "back-reference"),
        (r"(?:\w\w?)+ failed now", "repeat within a repeat"),
        ("(?:a{1,200}){1,200} failed", "repeat within a repeat"),
        (r"(?:\w\w|\d\d)+ timed out", "repeat within a repeat"),
        (".{0,200}.{0,200}.{0,200}failed now", "too many ways"),
        ("one.*two.*three.*four", "more than two unbounded repeats"),
        (r"\d+|rank", "literal text"),
        ("abc", "literal text"),
        ("错误", "literal text"),
        ("(?i)timed out", "ignores case"),
        ("(?i:timed out)", "literal text"),
        ("(unclosed", "valid regular expression"),
        ("x{99999999999999}", "valid regular expression"),
        ("(" * 5000 + ")" * 5000, "valid regular expression"),
    ],
)
def test_unusable_pattern_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        literals_of(pattern)


@pytest.mark.parametrize(
    "pattern", [r".{1,80}:timedout", r"(?P<host>\S+):timedout", r"\d+(?:x|.)*:timedout"]
)
def test_grep_form_begins_with_the_first_text(pattern: str) -> None:
    assert grep_form(pattern) == b":timedout"
