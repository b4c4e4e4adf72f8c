"""Sources of users are parsed without a word on stderr."""

from __future__ import annotations

import warnings

import pytest
from eagleray.remote.injected.source_trees import tree_of


@pytest.mark.parametrize("source", ['x = "\\d"', b'x = "\\d"'])
def test_source_with_an_invalid_escape_is_parsed_without_a_warning(source: str | bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tree_of(source) is not None


@pytest.mark.parametrize("source", ["x =", "x\0", b"\xff", "(" * 5000])
def test_source_that_cannot_be_parsed_has_no_tree(source: str | bytes) -> None:
    assert tree_of(source) is None
