"""SLURM's short form of node names."""

from __future__ import annotations

import pytest
from eagleray.slurm.hostlist import expand
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("nodelist", "names"),
    [
        ("", []),
        ("node-1", ["node-1"]),
        ("node-12,node-[22,30],node-49", ["node-12", "node-22", "node-30", "node-49"]),
        ("node-[9-10]", ["node-9", "node-10"]),
        ("gpu[001-003,010]", ["gpu001", "gpu002", "gpu003", "gpu010"]),
        ("gpu[098-101]", ["gpu098", "gpu099", "gpu100", "gpu101"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("n[1-2]-ib,login", ["n1-ib", "n2-ib", "login"]),
        ("a,a,ab", ["a", "ab"]),
        (" node-1 ", ["node-1"]),
        ("[1-2]", ["1", "2"]),
    ],
)
def test_list_of_nodes_is_expanded(nodelist: str, names: list[str]) -> None:
    assert expand(nodelist) == names


@pytest.mark.parametrize(
    "nodelist",
    [
        "a[",
        "a]",
        "a[[1]]",
        "a[1",
        "a[]",
        "a[x]",
        "a[2-1]",
        "a[1-2-3]",
        "a[1-999999999]",
        "-w",
        "a b",
        "$(id)",
        "a;b",
        "a,,b",
        "a[1-9999]b[1-9999]",
        "a[1-9999,1-9999,1-9999]",
        "../x",
        "a\nb",
        "a\x00",
    ],
)
def test_text_that_lists_no_nodes_is_refused(nodelist: str) -> None:
    with pytest.raises(ValueError):
        expand(nodelist)


@given(st.text(alphabet="an1[]-,x$; \n", max_size=14))
def test_any_text_is_a_list_or_refused(nodelist: str) -> None:
    try:
        names = expand(nodelist)
    except ValueError:
        return
    assert all(name.replace("-", "").isalnum() and name[0] != "-" for name in names)
