"""Every text of the Python side that a user reads is translated."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINT = ROOT / "scripts" / "texts" / "python_untranslated.py"

PLANTED = """
from typing import Literal
from eagleray.common.l10n import counted, t, translated
from eagleray.x.errors import no_worker

Outcome = Literal["will apply"]
log.info("This is logged, %s", 1)
EaglerayError("no-worker", "No worker is paused.", t("Wait for one."), f"in {there} of it")
no_worker("it has exited", counted(2, "{n} worker exited", "{n} workers exited"))
ProposedChange(t("Few steps"), "will apply", where="", why="")
report(f"Reading the kernels of {name}")
why = "a text without a function" if bad else translated(bad)
row(title="Short test", key="an id of two", note=name)
raise ValueError("a mistake of ours")
parser.add_argument("--top", help=t("number of rows"))
command = "run --break policy.py:23 -- python train.py"
print("usage", "Nothing was found.", file=sys.stderr)
if kind == "a kind of two": pass
"""

ROWS = """
from eagleray.common.errors import error
@error("no-x", "No {name}.", "See {place}.")
def no_x(name: str, where: str, detail: str = "") -> EaglerayError: ...
"""


def findings(folder: Path) -> list[dict[str, object]]:
    ran = subprocess.run(
        [sys.executable, LINT, folder], check=True, stdout=subprocess.PIPE, text=True
    )
    found: list[dict[str, object]] = json.loads(ran.stdout)
    return found


def test_texts_for_users_are_translated() -> None:
    assert findings(ROOT / "pybackend" / "eagleray") == [], "write t(…) of eagleray.common.l10n"


def test_untranslated_text_is_found_where_users_read_it(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(PLANTED, "utf-8")
    folder = tmp_path / "remote" / "injected"
    folder.mkdir(parents=True)
    (folder / "planted.py").write_text('why = "there is no catalogue here"')
    assert [found["line"] for found in findings(tmp_path)] == [8, 8, 9, 11, 12, 13, 17]


def test_texts_of_tables_are_listed() -> None:
    lister = ROOT / "scripts" / "texts" / "python_texts.py"
    ran = subprocess.run(
        [sys.executable, lister, ROOT / "pybackend" / "eagleray"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert {"The value is in seconds.", "Few steps", "Fewer nodes"} <= set(
        json.loads(ran.stdout)["texts"]
    )


def test_text_of_an_error_without_its_parameter_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "errors.py").write_text(ROWS, "utf-8")
    lister = ROOT / "scripts" / "texts" / "python_texts.py"
    ran = subprocess.run(
        [sys.executable, lister, tmp_path], check=True, stdout=subprocess.PIPE, text=True
    )
    listed = json.loads(ran.stdout)
    assert listed["texts"] == ["No {name}.", "See {place}."]
    assert [problem.partition("errors.py")[2] for problem in listed["problems"]] == [
        ":3: no value for {place}",
        ":3: the text has no {where}",
    ]
