"""Names from outside never leave their folder, whatever they are."""

from pathlib import Path

import pytest
from eagleray.common.outside_names import plain_name

HOSTILE = [
    *("", ".", "..", "...", "/", "//", "../../etc/passwd", "/etc/passwd", "a/b", "a\\b", "..\\.."),
    *("a\0b", "a\nb", "\x1b[2J", "a\u202eb", "\ud800", "CON", "nul.txt", "com1", "a.", "a ", " a"),
    *("-rf", "--help", ".hidden", "~root", "$HOME", "x" * 5000, "é" * 300, "host:/etc", "%2e%2e"),
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_file_of_a_hostile_name_is_in_its_folder_and_can_be_made(name: str, tmp_path: Path) -> None:
    plain = plain_name(name)
    file = tmp_path / plain
    assert file.parent == tmp_path and file.resolve().parent == tmp_path.resolve()
    assert Path(plain).name == plain and not plain.startswith((".", "-")) and plain.isprintable()
    assert not plain.endswith((".", " ")) and ":" not in plain
    file.mkdir()


def test_hostile_names_become_different_ones() -> None:
    assert len({plain_name(name).casefold() for name in HOSTILE}) == len(HOSTILE)


def test_usual_names_stay_as_they_are() -> None:
    for name in ("10.0.0.7", "node-3.cluster.example", "gpu_1", "raylet.out"):
        assert plain_name(name) == name
    assert plain_name("fd00::1") == "fd00__1"
