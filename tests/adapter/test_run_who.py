"""Who a debug proxy says its worker is: nothing of it is trusted."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.adapter.runs.process_info import mappings, read_process_info
from eagleray.protocol.control import PathMapping


def test_a_worker_that_says_all_of_itself() -> None:
    one = read_process_info(
        {
            "worker_id": "ab",
            "session": "s",
            "pid": 3,
            "kind": "driver",
            "class": "Policy",
            "name": "policy_0",
            "rank": "2",
            "python": "3.12",
            "state": "waiting",
            "hold_s": 5,
            "matches": False,
            "files": {"/a": "/b"},
            "held": [0, 17],
        }
    )
    assert (one.name, one.kind, one.hold_s, one.matches) == ("policy_0", "driver", 5.0, False)
    assert (one.files, one.held) == ({"/a": "/b"}, (0, 17))


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({"pid": 7}, "worker 7"),
        ({"pid": 7, "kind": "child"}, "child 7"),
        ({"name": "policy_0"}, "policy_0"),
        ({"function": "step", "class": ""}, "step"),
        ({"class": "A\x1b[31m\u202eB"}, None),
    ],
)
def test_how_a_worker_is_called(said: dict[str, Any], name: str | None) -> None:
    found = read_process_info(said).name
    assert found == name if name is not None else found.isprintable()


@pytest.mark.parametrize(
    "said",
    [
        {"pid": "7", "kind": 3, "rank": {}, "held": "all", "hold_s": "x", "files": [1]},
        {"hold_s": 10**400, "held": {}},
        {"hold_s": float("nan")},
        {"files": {"/a": 7, "/b": "", "/c": "x" * 10_000}, "held": [None, "0"]},
    ],
)
def test_what_is_no_such_value_has_its_default(said: dict[str, Any]) -> None:
    one = read_process_info(said)
    assert (one.pid, one.kind, one.rank, one.hold_s) == (0, "worker", "", 600.0)
    assert (one.files, one.held) == ({}, ())


def test_a_proxy_cannot_have_us_make_any_number_of_connections() -> None:
    assert len(read_process_info({"held": list(range(100_000))}).held) < 1000


@pytest.mark.parametrize(
    ("remote", "local", "expected"),
    [
        ("/a/x.py", "/a/x.py", []),
        (
            "/pkg/u/work.py",
            "/home/me/u/work.py",
            [("/pkg/u/work.py", "/home/me/u/work.py"), ("/pkg", "/home/me")],
        ),
        ("/x.py", "/home/x.py", [("/x.py", "/home/x.py")]),
        ("/home/u/x.py", "/u/x.py", [("/home/u/x.py", "/u/x.py")]),
    ],
)
def test_where_files_of_the_run_lie(
    remote: str, local: str, expected: list[tuple[str, str]]
) -> None:
    assert mappings({local: remote}) == [PathMapping(*pair) for pair in expected]
