"""Lines of nodes with other clocks are put in the order of their events; lines of earlier programs are left out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from eagleray.doctor.clocks import TOLERANCE_S, Clocks, clocks_of
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.findings import TimeScope
from eagleray.doctor.logs.cluster_copies import with_nodes
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules
from hypothesis import given
from hypothesis import strategies as st

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has\n"
FILES = "OSError: [Errno 24] Too many open files: 'x'\n"
AT = "2026-11-21 01:25:{:02d} E\n"


def _facts(node: str, offset: Any, **more: Any) -> dict[str, Any]:
    return {"node": node, "clock_offset": offset, **more}


@pytest.mark.parametrize(
    ("offset", "first"),
    [
        (0.0, "cuda-oom"),
        (TOLERANCE_S, "cuda-oom"),
        (30.0, "cuda-oom"),
        # The first node's clock is slow: what it wrote at :00 came ten seconds after :20.
        (-30.0, "ulimit-nofile"),
    ],
)
def test_earliest_cause_is_first_with_clocks_that_differ(
    tmp_path: Path, offset: float, first: str
) -> None:
    _write(tmp_path / "10.0.0.2" / "worker-1.err", AT.format(20) + FILES)
    _write(tmp_path / "10.0.0.1" / "worker-1.err", AT.format(0) + OOM)
    clocks = clocks_of([_facts("10.0.0.1", offset), _facts("10.0.0.2", 0.0)])

    diagnosis = _diagnose(tmp_path, TimeScope(clocks))

    assert diagnosis.causes[0].id == first
    shown = {cause.id: cause.evidence[0].time for cause in diagnosis.causes}
    difference = shown["cuda-oom"] - shown["ulimit-nofile"]  # type: ignore[operator]
    assert difference == -20 - (offset if abs(offset) > TOLERANCE_S else 0)


def test_node_that_ray_names_in_a_line_counts(tmp_path: Path) -> None:
    prefix = "(Policy pid=7, ip=10.0.0.1) "
    lines = f"{AT.format(20)}{FILES}{prefix}{AT.format(5)}{prefix}{OOM}"
    _write(tmp_path / "10.0.0.2" / "driver.log", lines)
    clocks = clocks_of([_facts("10.0.0.1", -40.0), _facts("10.0.0.2", 0.1)])

    assert [cause.id for cause in _diagnose(tmp_path).causes] == ["cuda-oom", "ulimit-nofile"]
    corrected = _diagnose(tmp_path, TimeScope(clocks))
    assert [cause.id for cause in corrected.causes] == ["ulimit-nofile", "cuda-oom"]


def test_time_zones_of_nodes_are_part_of_their_clocks() -> None:
    own = time.localtime().tm_gmtoff

    clocks = clocks_of([_facts("a", 0.5, utc_offset=own + 3600), _facts("b", 0.5, utc_offset=own)])

    assert clocks.ahead == {"a": pytest.approx(3600.5)}
    assert clocks.checked == {"a", "b"}


@pytest.mark.parametrize("offset", [None, "3", {}, []])
def test_clock_that_a_node_has_not_sent_is_not_corrected(offset: Any) -> None:
    assert clocks_of([_facts("a", offset), {"node": "b"}]) == Clocks()


@given(
    st.dictionaries(st.sampled_from("abc"), st.floats(-1e4, 1e4)),
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1e6)), min_size=2),
)
def test_corrected_times_have_the_order_of_the_events(
    ahead: dict[str, float], events: list[tuple[str, float]]
) -> None:
    clocks = clocks_of([_facts(node, offset) for node, offset in ahead.items()])

    for node, at in events:
        written = at + ahead.get(node, 0.0)
        assert clocks.corrected(written, node) == pytest.approx(at, abs=TOLERANCE_S + 1e-6)


def test_lines_before_the_start_are_of_earlier_programs(tmp_path: Path) -> None:
    _write(tmp_path / "a" / "raylet.err", f"2026-11-20 01:00:00 E\n{OOM}{AT.format(5)}{FILES}")
    started = time.mktime((2026, 11, 21, 1, 25, 0, 0, 0, -1))
    checked = Clocks(checked=frozenset({"a"}))

    (cause,) = _diagnose(tmp_path, TimeScope(checked, started)).causes
    assert cause.id == "ulimit-nofile"
    # A node whose clock and time zone are unknown may have written any time.
    assert len(_diagnose(tmp_path, TimeScope(Clocks(), started)).causes) == 2


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def _diagnose(folder: Path, scope: TimeScope | None = None) -> Diagnosis:
    files, unchecked = list_logs([folder])
    return diagnose(with_nodes(files, folder), own_rules(), unchecked, scope=scope)
