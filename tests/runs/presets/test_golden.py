"""The text and the diff that the user sees before the first start, for a script of each shape."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest
from eagleray.runs.presets.model import DebugRunProposal
from eagleray.runs.presets.proposal_text import WIDEST, lines_of

from tests.runs.presets.checkouts import checkout, debug_run, plan_of, with_script

GOLDEN = Path(__file__).parent / "golden"
SCRIPTS = [
    ("archer.sh", "verl", "0.4.1", {"hang_details": "on"}),
    ("verl_quoted.sh", "verl", "0.7.1", {"hang_details": "on", "replay": "/data/my rollouts"}),
    ("verl_plain.sh", "verl", "0.7.0", {"gpus": "2"}),
    ("verl_engine.sh", "verl", "2.0.0", {"steps": "2"}),
    ("rlinf.sh", "rlinf", "0.4.0", {"timeouts": "600"}),
    ("openrlhf.sh", "openrlhf", "0.11.0", {}),
    ("openrlhf_submit.sh", "openrlhf", "0.11.0", {"hang_details": "on"}),
    ("quoted.sh", "openrlhf", "0.10.0", {}),
]


@pytest.mark.parametrize(("name", "framework", "version", "answers"), SCRIPTS)
def test_proposal_is_shown(
    tmp_path: Path, name: str, framework: str, version: str, answers: dict[str, str]
) -> None:
    folder = checkout(tmp_path, framework, version)
    with_script(folder, name)
    text = shown(debug_run(plan_of(folder, "bash", name), **answers), folder)
    file = GOLDEN / f"{name.removesuffix('.sh')}.txt"
    if os.environ.get("UPDATE_EXPECT") == "1":
        file.write_text(text)
    assert file.exists(), f"no golden text; UPDATE_EXPECT=1 writes it:\n{text}"
    assert text == file.read_text()


def test_script_with_windows_line_ends_shows_the_same_tokens(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "verl", "0.7.0")
    texts = []
    for newline in ("\n", "\r\n"):
        with_script(folder, "verl_plain.sh", newline)
        made = debug_run(plan_of(folder, "bash", "verl_plain.sh"))
        texts.append(made.after)
    assert texts[0] == texts[1]
    assert made.changes[0].why.startswith("The script has the line ends of Windows.")


def shown(made: DebugRunProposal, folder: Path) -> str:
    text_lines = lines_of(made)
    assert all(len(line) <= WIDEST for line in text_lines)
    difference = difflib.unified_diff(
        made.before.splitlines(), made.after.splitlines(), "as it is", "debug run", "", "", 2, ""
    )
    lines = [
        f"{made.title} ({made.framework} {made.framework_version})",
        "",
        *text_lines,
        "",
        *difference,
    ]
    return "\n".join(lines).replace(str(folder), "<folder>") + "\n"
