"""Scripts are split into tokens as bash splits them, by a table and by a law."""

from __future__ import annotations

import shlex

import pytest
from eagleray.runs.scripts.bash_tokens import (
    ExpandedText,
    array_items,
    commands_of,
    expanded,
)
from eagleray.runs.scripts.script_edits import with_own_place
from hypothesis import given
from hypothesis import strategies as st

CASES: list[tuple[str, list[list[str]]]] = [
    ("a b; c|d && e &", [["a", "b"], ["c"], ["d"], ["e"]]),
    ("a \\\n  b # c\nd", [["a", "b"], ["d"]]),
    ("a 'b c' \"d e\" f\\ g", [["a", "'b c'", '"d e"', "f\\ g"]]),
    ("a 2>&1 >/dev/null <in b &> out", [["a", "b"]]),
    ("cat <<EOF >f\nnot 'a word\nEOF\nb", [["cat"], ["b"]]),
    ("cat <<-'E O'\n\tx\n\tE O\nb", [["cat"], ["b"]]),
    ("cat <<< 'x y' z", [["cat", "z"]]),
    ("a $(b 'c)' \"$(d)\") e", [["a", "$(b 'c)' \"$(d)\")", "e"]]),
    ('a "x $(b "y z") w" c', [["a", '"x $(b "y z") w"', "c"]]),
    ("a ${b:-'c d'} $((1 * 2)) `e f`", [["a", "${b:-'c d'}", "$((1 * 2))", "`e f`"]]),
    ("X=( a 'b c' # d\n e )\nf", [["X=( a 'b c' # d\n e )"], ["f"]]),
    ("if a; then b; else c; fi", [["a"], ["b"], ["c"], ["fi"]]),
    ("a#b # c", [["a#b"]]),
    ("(a; b)", [["a"], ["b"]]),
    ("a 'unclosed", [["a", "'unclosed"]]),
    ('a "unclosed', [["a", '"unclosed']]),
    ("a $(unclosed", [["a", "$(unclosed"]]),
    ("", []),
    ("a b \\", [["a", "b"]]),
    ("a b\\", [["a", "b"]]),
    ("a b \\\n\\", [["a", "b"]]),
    ("\\", []),
]


@pytest.mark.parametrize(("text", "tokens"), CASES)
def test_commands_are_split_into_tokens(text: str, tokens: list[list[str]]) -> None:
    commands = commands_of(text)
    assert [[word.raw for word in command.tokens] for command in commands] == tokens
    for command in commands:
        assert all(text[word.start : word.end] == word.raw for word in command.tokens)
        assert command.end == command.tokens[-1].end


@pytest.mark.parametrize("opening", ["$(", "${", '"$(', "x=("])
@pytest.mark.parametrize("closing", [")", "}", ')"', ""])
def test_no_depth_is_too_deep(opening: str, closing: str) -> None:
    text = f"a {opening * 5_000}x{closing * 5_000}"
    assert next(word.raw for command in commands_of(text) for word in command.tokens) == "a"
    assert expanded(text.partition(" ")[2], VALUES).text


def test_command_after_a_deep_word_is_read() -> None:
    deep = "$(" * 5_000 + "x" + ")" * 5_000
    assert [[w.raw for w in c.tokens] for c in commands_of(f"a {deep} b\nc")] == [
        ["a", deep, "b"],
        ["c"],
    ]


def test_copy_leaves_deep_nesting_unchanged() -> None:
    deep = '"$(' * 2_000 + "$0" + ')"' * 2_000
    copied = with_own_place(f'cd {deep} "$(dirname \'$0\')" "$(dirname $0)"')
    assert copied == f'cd {deep} "$(dirname \'$0\')" "$(dirname ${{EAGLERAY_SCRIPT}})"'


def test_commands_in_functions_are_marked() -> None:
    text = "f() { a; { b; }; c; }\nfunction g { d; }\ne"
    assert {c.tokens[0].raw: c.function for c in commands_of(text)} == {
        **dict.fromkeys("abcd", True),
        "e": False,
    }


VALUES = {
    "A": ExpandedText("x y"),
    "E": ExpandedText(""),
    "U": ExpandedText("${U}", is_resolved=False),
    "1": ExpandedText("first"),
}


@pytest.mark.parametrize(
    ("raw", "text", "is_resolved"),
    [
        ("abc", "abc", True),
        ("'a $A'", "a $A", True),
        ('"a $A"', "a x y", True),
        ("${A}b", "x yb", True),
        ('"a\\"b\\n\\$"', 'a"b\\n$', True),
        ("a\\ b", "a b", True),
        ("['x','y']", "[x,y]", True),
        ("${1:-d}", "first", True),
        ("${2:-d}", "d", True),
        ("1$", "1$", True),
        ("${B:-d}", "d", False),
        ("${E:-d}", "d", False),
        ("$B", "$B", False),
        ("$U/x", "${U}/x", False),
        ("$(a)", "$(a)", False),
        ("`a`", "`a`", False),
        ("${A%x}", "${A%x}", False),
        ("$'a'", "$'a'", False),
        ("'open", "'open", False),
    ],
)
def test_token_expands_to_its_text(raw: str, text: str, is_resolved: bool) -> None:
    assert expanded(raw, VALUES) == ExpandedText(text, is_resolved)


def test_array_is_split_into_tokens() -> None:
    raw = '( a\n # b \'c\n  "d e" #f\n --g )'
    items = array_items(raw)
    assert [word.raw for word in items] == ["a", '"d e"', "--g"]
    assert all(raw[word.start : word.end] == word.raw for word in items)


TOKEN_LISTS = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1)


@given(TOKEN_LISTS, st.sampled_from([" ", "  ", " \\\n   ", "\t"]))
def test_quoted_tokens_round_trip(tokens: list[str], blank: str) -> None:
    quoted = [shlex.quote(word) for word in ["python3", *tokens]]
    text = "# a 'comment\n" + blank.join(quoted) + " 2>&1 | tee x\n"
    command = commands_of(text)[0]
    assert [expanded(word.raw, {}) for word in command.tokens] == [
        ExpandedText(word) for word in ["python3", *tokens]
    ]


@given(st.text("ab \n'\"$(){}`\\#<>|&;=@!x", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    for command in commands_of(text):
        for word in command.tokens:
            assert text[word.start : word.end] == word.raw != ""
            expanded(word.raw, VALUES)
