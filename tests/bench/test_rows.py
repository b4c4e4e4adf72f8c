"""The bench's table: ratios, goals, and the JSON that is kept."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench.rows import (
    at_least_times,
    at_most,
    at_most_more,
    at_most_times,
    least_at_most_times,
    printed,
    table,
    write,
)


def test_goals() -> None:
    assert at_most_times("a", [1.2, 9.0, 1.3], [1.0], 1.3).good
    assert not at_most_times("a", [1.4], [1.0], 1.3).good
    assert at_most_more("b", [1.9], [1.0], 1.0).good
    assert not at_most_more("b", [2.1], [1.0], 1.0).good
    assert at_most("c", [80.0], 80).good
    assert at_most("c", [1.0], 80).peer is None
    assert at_most("c", [1.0], 80, [2.0]).ratio == 0.5
    assert least_at_most_times("e", [9.0, 1.04], [1.0, 7.0], 1.05).good
    assert not least_at_most_times("e", [9.0, 1.06], [1.0, 7.0], 1.05).good
    assert printed("f", [9.0], [1.0]).ratio == 9.0
    assert at_least_times("d", [95.0], [100.0], 0.9).good
    assert not at_least_times("d", [80.0], [100.0], 0.9).good


def test_what_is_kept_and_shown(tmp_path: Path) -> None:
    rows = [at_most_times("attach (ms)", [3.0, 1.0, 2.0], [1.0], 1.3), at_most("memory", [1], 2)]
    write(rows, tmp_path / "bench.json")
    first = json.loads((tmp_path / "bench.json").read_text())[0]
    assert first == {
        "name": "attach (ms)",
        "ours": 2.0,
        "peer": 1.0,
        "ratio": 2.0,
        "goal": "≤ 1.3 × peer",
        "samples": 3,
    }
    shown = table(rows).splitlines()
    assert shown[1].endswith("missed")
    assert "–" in shown[2]
