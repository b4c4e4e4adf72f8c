"""Names and descriptions of reports from a cluster: safe local names, parsed without trust."""

from __future__ import annotations

import re

import pytest
from eagleray.profile.recordings.file_names import is_accepted, local_name
from eagleray.profile.recordings.manifest import ReportEntry, parse_entry
from hypothesis import given
from hypothesis import strategies as st

from tests.profile.recordings.reports import described

PLAIN = re.compile(r"[A-Za-z0-9_+=@-][A-Za-z0-9._+=@-]{0,199}")


@given(st.lists(st.text(min_size=1, max_size=300), max_size=8))
def test_local_names_are_plain_and_unique(names: list[str]) -> None:
    taken: list[str] = []
    for name in names:
        taken.append(local_name(name, taken))
    assert all(PLAIN.fullmatch(name) and name.endswith(".nsys-rep") for name in taken)
    assert len({name.casefold() for name in taken}) == len(taken)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "a\0b",
        ".hidden",
        "-o",
        "a\nb",
        "\x1b[2J",
        "x" * 256,
    ],
)
def test_unsafe_names_are_rejected(name: str) -> None:
    assert not is_accepted(name)


def test_colon_of_nemo_rl_names_becomes_underscore() -> None:
    assert local_name("policy_2:3_4711.nsys-rep", []) == "policy_2_3_4711.nsys-rep"
    assert local_name("A.nsys-rep", ["a.nsys-rep"]) == "A.2.nsys-rep"


def test_description_is_parsed_completely() -> None:
    entry = parse_entry("p.nsys-rep", described(b"x", nsys_version="2022.4", options={"t": "nvtx"}))
    assert entry is not None
    assert (entry.class_name, entry.pid, entry.rank, entry.gpus) == ("Policy", 7, "0", ("0",))
    assert (entry.nsys_version, entry.options) == ("2022.4", ("t=nvtx",))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[" * 100_000,
        b"{}",
        b"\xff\xfe",
        described(b"", size=-1),
        described(b"", size="9"),
        described(b"", size=True),
        described(b"", sha256="../../x"),
        described(b"", sha256=""),
    ],
)
def test_invalid_description_is_ignored(text: bytes) -> None:
    assert parse_entry("p.nsys-rep", text) is None


def test_hostile_text_of_a_description_is_a_single_line() -> None:
    description = described(
        b"x", name="a\n\x1b[2Jb" * 200, run="\0", pid="7", options=[{}, 1, "o\n"]
    )
    entry = parse_entry("p.nsys-rep", description)
    assert isinstance(entry, ReportEntry)
    assert entry.name.isprintable() and len(entry.name) <= 300 and entry.pid == 0
    assert entry.options == ("", "1", "o ")
