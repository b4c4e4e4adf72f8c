"""The description of a process that its debug proxy reports: nothing of it is trusted."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.adapter.runs.process_info import mappings, read_process_info
from eagleray.protocol.adapter_control import PathMapping


def test_complete_description_is_read() -> None:
    info = read_process_info(
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
    assert (info.name, info.kind, info.hold_s, info.matches) == ("policy_0", "driver", 5.0, False)
    assert (info.files, info.held) == ({"/a": "/b"}, (0, 17))


def test_processes_with_equal_pids_have_different_ids() -> None:
    """Pids are equal on several nodes, and after `exec`."""
    ids = [
        read_process_info({"pid": 7, "kind": "driver", "image": image}).worker_id
        for image in ("a1", "b2")
    ]
    assert ids == ["driver-7-a1", "driver-7-b2"]


@pytest.mark.parametrize(
    ("hello", "name"),
    [
        ({"pid": 7}, "worker 7"),
        ({"pid": 7, "kind": "child"}, "child 7"),
        ({"pid": 7, "kind": "child", "name": "p.py"}, "p.py · process 7"),
        ({"name": "policy_0"}, "policy_0"),
        ({"function": "step", "class": ""}, "step"),
        ({"class": "A\x1b[31m\u202eB"}, None),
    ],
)
def test_name_is_taken_from_the_first_field_that_has_one(
    hello: dict[str, Any], name: str | None
) -> None:
    read = read_process_info(hello).name
    assert read == name if name is not None else read.isprintable()


@pytest.mark.parametrize(
    "hello",
    [
        {"pid": "7", "kind": 3, "rank": {}, "held": "all", "hold_s": "x", "files": [1]},
        {"hold_s": 10**400, "held": {}},
        {"hold_s": float("nan")},
        {"files": {"/a": 7, "/b": "", "/c": "x" * 10_000}, "held": [None, "0"]},
    ],
)
def test_invalid_value_becomes_its_default(hello: dict[str, Any]) -> None:
    info = read_process_info(hello)
    assert (info.pid, info.kind, info.rank, info.hold_s) == (0, "worker", "", 600.0)
    assert (info.files, info.held) == ({}, ())


def test_number_of_held_processes_is_limited() -> None:
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
def test_files_elsewhere_are_mapped_with_their_folders(
    remote: str, local: str, expected: list[tuple[str, str]]
) -> None:
    assert mappings({local: remote}) == [PathMapping(*pair) for pair in expected]
