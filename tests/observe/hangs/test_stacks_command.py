"""`eagleray stacks` with files: pictures are compared, printed as JSON, and saved or at least printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.cli.main import main
from eagleray.cli.observe.shapes import PICTURE
from eagleray.observe.hangs import picture_files
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.picture import picture

from tests.observe.hangs.test_rules import recorded


@pytest.fixture
def pictures(tmp_path: Path) -> tuple[str, str]:
    """Two pictures of a world; ranks 0 and 2 are elsewhere in the second."""
    sampled = recorded("mismatch")
    first = picture(sampled, diagnosis(sampled), 1.0)
    reduces = next(each for each in first.classes if each.ranks == "0,2")
    classes = [
        evolve(each, frames=each.frames[:-1]) if each is reduces else each for each in first.classes
    ]
    files = tmp_path / "first.json", tmp_path / "second.json"
    picture_files.save(first, files[0])
    picture_files.save(evolve(first, classes=tuple(classes)), files[1])
    return str(files[0]), str(files[1])


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["stacks", *arguments, "--json"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_changes_between_pictures_are_printed_as_json(
    pictures: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = pictures
    value = printed(capsys, "--open", second, "--compare", first)
    assert list(value) == list(PICTURE)
    [change] = value["changes"]
    assert (change["group"], change["ranks"]) == ("trainer.py", "0,2")
    assert change["before"][:-1] == change["after"]
    assert change["before"][-1]["function"] == "all_reduce"
    assert printed(capsys, "--open", first, "--compare", first)["changes"] == []


@pytest.mark.parametrize(("confidence", "code"), [(0.5, 0), (0.55, 3)])
def test_a_hang_that_is_only_possible_has_no_exit_code(
    pictures: tuple[str, str], confidence: float, code: int
) -> None:
    file = Path(pictures[0])
    saved = picture_files.load(file)
    picture_files.save(evolve(saved, verdict=evolve(saved.verdict, confidence=confidence)), file)
    assert main(["stacks", "--open", str(file), "--exit-code"]) == code


def test_json_of_a_picture_can_be_opened(
    pictures: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = printed(capsys, "--open", pictures[0])
    (tmp_path / "third.json").write_text(json.dumps(value))
    assert printed(capsys, "--open", str(tmp_path / "third.json")) == value


@pytest.mark.parametrize("name", ["missing/picture.json", "."])
def test_picture_that_cannot_be_saved_is_not_taken(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # No such process exists: this would be reported first.
    assert main(["stacks", "--pids", str(2**22 - 1), "--save", str(tmp_path / name)]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("eagleray: Can't write ")


def test_picture_that_could_not_be_saved_is_printed(
    pictures: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(picture_files, "replace_text", full)
    assert main(["stacks", "--open", pictures[0], "--save", str(tmp_path / "third.json")]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("Ranks 1 and 3 wait in all_gather")
    assert "No space left on device" in said.err
