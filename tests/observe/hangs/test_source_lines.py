"""Sources of a program explain the lines at which its ranks are stopped."""

import ast
from pathlib import Path

import pytest
from eagleray.observe.hangs import source_lines
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import evidence
from eagleray.observe.hangs.source_lines import calls_at
from eagleray.remote.sampling import source_blocks
from eagleray.remote.sampling.source_blocks import handler_at

from tests.bench.recorded_nodes import worlds
from tests.observe.hangs.record import PAUSE_S


def test_source_that_was_edited_is_read_again(tmp_path: Path) -> None:
    source = tmp_path / "train.py"
    source.write_text("try:\n    step()\nfinally:\n    close()\n")
    assert (handler_at(str(source), 4), calls_at(str(source), 4)) == ("finally", ("close",))
    source.write_text("if rank:\n    step()\nelse:\n    reduce()\n")
    assert (handler_at(str(source), 4), calls_at(str(source), 4)) == ("", ("reduce",))
    source.unlink()
    assert (handler_at(str(source), 4), calls_at(str(source), 4)) == ("", ())


def test_source_of_a_line_is_searched_once_for_all_ranks_at_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Other tests have searched the same lines.
    source_lines._calls_in.cache_clear()
    source_blocks._handler_in.cache_clear()
    searched: list[ast.AST] = []
    walk = ast.walk
    monkeypatch.setattr(ast, "walk", lambda node: (searched.append(node), walk(node))[1])
    taken = diagnosis(evidence(worlds(["mismatch"], 50, 8), PAUSE_S, is_whole=True))
    assert str(taken.reading.culprits).startswith("1,3,5,7,")
    # The lines of all_reduce and all_gather.
    assert len(searched) == 2
