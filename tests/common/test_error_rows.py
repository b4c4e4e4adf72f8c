"""Rows of the catalogue of errors fill in their texts and return an error."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import eagleray
from eagleray.common import l10n
from eagleray.common.errors import EaglerayError, error

ROOT = Path(eagleray.__file__).parent
# A parameter in the text of an error, printable or not, and a number of seconds.
PLAIN = re.compile(r"\w+|printable\(\w+(, \d+)?\)|f'\{\w+:g\}'")


@error(
    "bad-thing", "{path}: {names} after {seconds} s ({count}).", "Try {path} again.", retries=True
)
def bad_thing(
    path: Path, names: list[str], seconds: float, count: int, detail: str = "", output: str = ""
) -> EaglerayError: ...


def test_row_fills_in_values_by_their_types() -> None:
    made = bad_thing(Path("/a"), ["b", "c"], 2.0, count=1000000)
    assert (made.code, made.message) == ("bad-thing", "/a: b, c after 2 s (1000000).")
    assert made.next_step == "Try /a again."
    assert made.retries and (made.detail, made.output) == ("", "")


def test_value_of_a_row_is_printable_and_short() -> None:
    made = bad_thing(Path("/a\x1b[31m\nb"), ["x" * 1000], 1, 1)
    assert made.message.startswith("/a [31m b: xxx")
    assert len(made.message) < 350


def test_detail_and_output_are_fields_of_the_error() -> None:
    made = bad_thing(Path("a"), [], 1, 1, "the cause", output="printed\n")
    assert (made.detail, made.output) == ("the cause", "printed")
    assert "cause" not in str(made) and "printed" not in str(made)


def test_row_is_translated_when_it_is_made(tmp_path: Path) -> None:
    (tmp_path / "de.json").write_text('{"Try {path} again.": "Versuche {path} erneut."}', "utf-8")
    try:
        l10n.use("de", tmp_path)
        assert bad_thing(Path("a"), [], 1, 1).next_step == "Versuche a erneut."
    finally:
        l10n.use("")


def test_every_declaration_without_a_body_is_a_row() -> None:
    undecorated = [
        function.name
        for path in ROOT.rglob("*errors.py")
        for function in ast.parse(path.read_text("utf-8")).body
        if isinstance(function, ast.FunctionDef)
        and all(_is_constant(statement) for statement in function.body)
        and [ast.unparse(each)[:6] for each in function.decorator_list] != ["error("]
    ]
    assert undecorated == []


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@error("worse-thing", "{path} is wrong.", "Use another one.")
def worse_thing(path: str, next_step: str) -> EaglerayError: ...


def test_next_step_of_a_call_replaces_the_next_step_of_its_row() -> None:
    assert worse_thing("a", "").next_step == "Use another one."
    assert worse_thing("a", "Use b.").next_step == "Use b."


def test_error_with_plain_texts_is_a_row() -> None:
    written_out = [
        function.name
        for path in ROOT.rglob("*errors.py")
        for function in ast.parse(path.read_text("utf-8")).body
        if isinstance(function, ast.FunctionDef) and _could_be_a_row(function)
    ]
    assert written_out == [], "declare it with @error of common/errors.py"


def _could_be_a_row(function: ast.FunctionDef) -> bool:
    """Whether a function only returns an error whose texts have its parameters as they are."""
    statement, call = function.body[-1], getattr(function.body[-1], "value", None)
    if not (isinstance(statement, ast.Return) and all(map(_is_constant, function.body[:-1]))):
        return False
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "EaglerayError":
        return False
    # A parameter that is in a text and in the detail, too, fits no row.
    fields = {ast.unparse(each) for each in (*call.args[3:], *(k.value for k in call.keywords))}
    return all(
        isinstance(text, ast.Call)
        and ast.unparse(text.func) == "t"
        and all(PLAIN.fullmatch(ast.unparse(each.value)) for each in text.keywords)
        and not fields
        & {ast.unparse(name) for name in ast.walk(text) if isinstance(name, ast.Name)}
        for text in call.args[1:3]
    )
