"""An option that a record declares is printed everywhere, and read by the command line."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from attrs import frozen
from eagleray.cli.arguments import ranks
from eagleray.runs.model import RunOptions
from eagleray.runs.run_options import add_options, chosen_options, declared

ROOT = Path(__file__).parents[2]


@frozen(kw_only=True)
class MoreOptions(RunOptions):
    """The options of a run with a further one."""

    pause_seconds: float = declared(
        0.0,
        name="pauseSeconds",
        flag="--pause",
        metavar="SECONDS",
        text="Pause for so many seconds.",
        label="Pause for",
        hint="Seconds.",
        most=60.0,
    )


def printer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("printer", ROOT / "scripts" / "run_options.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for file in ("package.json", "package.nls.json", "docs/runs.md", "docs/command-line.md"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def test_declared_option_is_printed_into_each_file(repository: Path) -> None:
    files = {
        str(file.relative_to(repository)): text
        for file, text in printer().option_files(repository, MoreOptions)
    }
    properties = json.loads(files["package.json"])["contributes"]["debuggers"][0]
    launch = properties["configurationAttributes"]["launch"]["properties"]
    assert launch["pauseSeconds"] == {
        "type": "number",
        "minimum": 0,
        "maximum": 60,
        "default": 0,
        "description": "%debugger.launch.pauseSeconds%",
    }
    texts = json.loads(files["package.nls.json"])
    assert texts["debugger.launch.pauseSeconds"] == "Pause for so many seconds."
    row = "| Pause for so many seconds. | `pauseSeconds` | `--pause SECONDS` |"
    assert row in files["docs/runs.md"].splitlines()
    assert "`--pause SECONDS`, [start]" in files["docs/command-line.md"]
    assert 'pauseSeconds: { field: "pause_seconds"' in files["extension/runs/run_options.ts"]
    assert 'l10n.t("Pause for")' in files["extension/runs/presets/page/option_texts.ts"]


def test_printed_options_are_current() -> None:
    files = printer().option_files(ROOT)
    assert [str(file) for file, text in files if file.read_text("utf-8") != text] == []


@pytest.mark.parametrize(
    ("written", "chosen"),
    [
        ([], {}),
        (["--pause", "2.5", "--children"], {"pause_seconds": 2.5, "children": True}),
        (["--workers", "a", "--workers", "b"], {"workers": ("a", "b")}),
        (["--ranks", "0,2-3", "--post-mortem"], {"ranks": (0, 2, 3), "post_mortem": True}),
    ],
)
def test_command_line_has_each_option(written: list[str], chosen: dict[str, object]) -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, MoreOptions, ranks)
    options = chosen_options(parser.parse_args(written), MoreOptions)
    assert MoreOptions(cwd="/w", **options) == MoreOptions(cwd="/w", **chosen)
