"""Users find every command, option, setting, kind of verdict and diagnosed error in docs/."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from eagleray.cli.completion import Specification, specifications
from eagleray.common.doctor_hints import CLUSTER_CODES, MACHINE_CODES
from eagleray.observe.hangs.verdict import Kind
from eagleray.rollouts.agents.model import VERDICT_KINDS
from eagleray.rollouts.comparing.model import ComparisonKind

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COMMAND_LINE = (DOCS / "command-line.md").read_text()
ALL = "\n".join(path.read_text() for path in sorted(DOCS.rglob("*.md")))
MANIFEST: dict[str, Any] = json.loads((ROOT / "package.json").read_text())
ROW = re.compile(r"^\| `eagleray .*$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
SHARED = OPTION.findall(COMMAND_LINE.split("\n## Options\n")[1].split("\n## ")[0])
CONTRIBUTED: dict[str, Any] = MANIFEST["contributes"]


def row_of(path: tuple[str, ...]) -> str:
    """The row of a command in docs/command-line.md, with the row above it where it says "the same"; fails if it has none."""
    command = f"`eagleray {' '.join(path)}"
    rows: list[str] = ROW.findall(COMMAND_LINE)
    (index,) = [i for i, row in enumerate(rows) if re.match(rf"\| {re.escape(command)}[ `]", row)]
    return rows[index - 1] + rows[index] if "the same" in rows[index] else rows[index]


@pytest.mark.parametrize("command", specifications(), ids=lambda command: " ".join(command.path))
def test_command_line_page_has_the_options_of_each_command(command: Specification) -> None:
    row = row_of(command.path)
    is_elsewhere = re.search(r"\[there\]\(([\w-]+\.md)\)", row)
    page = (DOCS / is_elsewhere[1]).read_text() if is_elsewhere else ""
    documented = {*SHARED, *OPTION.findall(row), *OPTION.findall(page)}

    assert [
        name for option in command.options for name in option.names if name not in documented
    ] == []


def test_reference_has_each_setting_and_command_of_the_editor() -> None:
    reference = (DOCS / "reference.md").read_text()
    settings = [name for group in CONTRIBUTED["configuration"] for name in group["properties"]]
    commands = [command["command"] for command in CONTRIBUTED["commands"]]

    assert settings and commands
    assert [name for name in settings + commands if f"`{name}`" not in reference] == []


@pytest.mark.parametrize(
    ("page", "kinds"),
    [
        ("hangs.md", [kind.value for kind in Kind]),
        ("rollouts.md", VERDICT_KINDS),
        ("rollouts.md", [kind.value for kind in ComparisonKind]),
    ],
    ids=["hangs", "agents", "comparisons"],
)
def test_page_has_each_kind_of_verdict(page: str, kinds: list[str]) -> None:
    text = (DOCS / page).read_text()

    assert [kind for kind in kinds if f"`{kind}`" not in text] == []


def test_documents_have_each_diagnosed_error() -> None:
    assert [code for code in CLUSTER_CODES | MACHINE_CODES if f"`{code}`" not in ALL] == []
