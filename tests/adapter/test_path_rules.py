"""The mapping of a worker's files to local ones and back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from eagleray.adapter.sessions.sources import PathRules
from eagleray.common.file_checks import FileChecks
from eagleray.protocol.adapter_control import PathMapping
from hypothesis import given, settings
from hypothesis import strategies as st


class Files(FileChecks):
    """Files whose existence is fixed."""

    def __init__(self, has: Callable[[str], bool]) -> None:
        super().__init__()
        self._has = has

    def answer(self, path: str) -> bool:
        return self._has(path)


LOCAL = {"/home/me/proj/train.py", "/home/me/proj/lib/a.py", "/shared/x.py", "/home/me/one file.py"}
HERE = Files(LOCAL.__contains__)
EVERYWHERE = Files(lambda _: True)
RULES = [
    PathMapping("/tmp/pkg/lib/", "/home/me/proj/lib"),
    PathMapping("/tmp/pkg", "/home/me/proj"),
    PathMapping("/srv/model.py", "/home/me/one file.py"),
]

TO_LOCAL = [
    ("/tmp/pkg/train.py", "/home/me/proj/train.py"),
    ("/tmp/pkg/lib/a.py", "/home/me/proj/lib/a.py"),
    ("/tmp/pkg/missing.py", ""),
    ("/tmp/pkgs/train.py", ""),
    ("/srv/model.py", "/home/me/one file.py"),
    ("/tmp/pkg/../../shared/x.py", "/shared/x.py"),
    ("/tmp/pkg/../secret.py", ""),
    ("/shared/x.py", "/shared/x.py"),
    ("<string>", ""),
]


@pytest.mark.parametrize(("remote", "local"), TO_LOCAL)
def test_worker_file_is_mapped_to_a_local_file(remote: str, local: str) -> None:
    assert PathRules(RULES, HERE).to_local(remote) == local


@pytest.mark.parametrize(
    "remote", [remote for remote, local in TO_LOCAL if local and ".." not in remote]
)
def test_local_file_is_mapped_back_to_the_worker(remote: str) -> None:
    rules = PathRules(RULES, HERE)
    assert rules.to_remote(rules.to_local(remote)) == remote


def test_unmapped_local_file_keeps_its_path() -> None:
    assert PathRules(RULES, HERE).to_remote("/etc/other.py") == "/etc/other.py"


def test_first_matching_rule_decides() -> None:
    rules = PathRules(
        [PathMapping("/r", "/a"), PathMapping("/r", "/b")], Files({"/b/f.py"}.__contains__)
    )
    assert rules.to_local("/r/f.py") == "/b/f.py"
    assert PathRules(rules.mappings, EVERYWHERE).to_local("/r/f.py") == "/a/f.py"


names = st.text("abc _-.é", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
parts = st.lists(names, min_size=1, max_size=4)


@settings(max_examples=50, deadline=None)
@given(root=parts, local=parts, rest=parts)
def test_mapping_back_returns_the_same_path(
    root: list[str], local: list[str], rest: list[str]
) -> None:
    there: Callable[[list[str]], str] = lambda names: "/" + "/".join(names)  # noqa: E731
    rules = PathRules([PathMapping(there(root), there(local))], EVERYWHERE)
    remote = there(root + rest)
    assert rules.to_remote(rules.to_local(remote)) == remote
