"""Docstrings, comments and test names are plain English, without the phrases of this table."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
FOLDERS = ("pybackend", "extension", "scripts", "tests")
_BEGINNINGS = r"(?:Of|Those|Who|Whose|Since|What|That of)\b"
PHRASES = {
    "begins with": re.compile(rf"^{_BEGINNINGS}"),
    "is no": re.compile(r"\b(?:is|are|was|were) no (?!longer\b|more than\b|later\b|older\b)"),
    "goes on": re.compile(r"\b(?:goes|went|gone|go|going) on\b(?! to\b)"),
    "nobody": re.compile(r"\b(?:[Nn]obody|[Ss]omebody)\b(?!-)"),
    "that of": re.compile(r"\b(?:[Tt]hat|[Tt]hose) of\b"),
    "looked into": re.compile(r"\b[Ll]ook(?:ed|s|ing)? into\b"),
}
# A file without a match has no phrase, so it isn't parsed.
_MAYBE_FIRST = re.compile(rf"(?:\"\"\"|#:?|//+|\*)\s*{_BEGINNINGS}")
_BETWEEN_WORDS = re.compile(r"[\s_#/*]+")
_MAYBE_WITHIN = re.compile(
    r"(?:is|are|was|were) no |(?:goes|went|gone|go|going) on|(?:ome|o)body|hat of|hose of"
    r"|ook(?:ed|s|ing)? into"
)
_TYPESCRIPT_TEST = re.compile(r"^\s*(?:test|it|story|describe)\(\s*([\"'`])(.+?)\1", re.MULTILINE)
_TYPESCRIPT_COMMENT = re.compile(r"^\s*(?://+|/\*+|\*+(?!/))\s?(.*?)(?:\*/)?$")
_COMMENT_AFTER_CODE = re.compile(r"(?<![:\"'`\\])//\s(.*)$")


@attrs.frozen
class Prose:
    line: int
    text: str

    @property
    def phrases(self) -> list[str]:
        return [phrase for phrase, pattern in PHRASES.items() if pattern.search(self.text)]


def python_prose(source: str) -> Iterator[Prose]:
    """The docstrings, comments and test names of a module, as sentences."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        text = ast.get_docstring(node)
        if text:
            yield Prose(node.body[0].lineno, " ".join(text.split()))
        if not isinstance(node, ast.Module) and node.name.startswith("test_"):
            yield Prose(node.lineno, node.name.removeprefix("test_").replace("_", " "))
    yield from _comments(source)


def _comments(source: str) -> Iterator[Prose]:
    """Comments, where lines that follow each other are one text."""
    first, last, text = 0, -1, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, added = token.start[0], token.string.lstrip("#: ")
        is_alone = not token.line[: token.start[1]].strip()
        if text and is_alone and line == last + 1:
            text, last = f"{text} {added}", line
            continue
        if text:
            yield Prose(first, text)
        first, text, last = line, added, line if is_alone else -1
    if text:
        yield Prose(first, text)


def typescript_prose(source: str) -> Iterator[Prose]:
    """The comments and test names of a TypeScript module."""
    first, text = 0, ""
    for number, line in enumerate([*source.splitlines(), ""], 1):
        comment = _TYPESCRIPT_COMMENT.match(line)
        if text and (comment is None or line.lstrip().startswith("/*")):
            yield Prose(first, text)
            text = ""
        if comment:
            first = first if text else number
            text = f"{text} {comment[1].strip()}".strip()
        elif after := _COMMENT_AFTER_CODE.search(line):
            yield Prose(number, after[1])
    for test in _TYPESCRIPT_TEST.finditer(source):
        yield Prose(source.count("\n", 0, test.start()) + 1, test[2])


def prose_with_phrases(file: Path) -> Iterator[Prose]:
    source = file.read_text("utf-8")
    within = _BETWEEN_WORDS.sub(" ", source)
    if not _MAYBE_FIRST.search(source) and not _MAYBE_WITHIN.search(within):
        return
    prose = python_prose(source) if file.suffix == ".py" else typescript_prose(source)
    yield from (text for text in prose if text.phrases)


def sources(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            if file.suffix in {".py", ".ts", ".mjs"} and file != Path(__file__):
                yield file


def phrases_below(*folders: Path) -> dict[str, list[str]]:
    """Places of each phrase, such as "a.py:7: Those of a job."."""
    places: dict[str, list[str]] = {}
    for file in sources(*folders):
        for prose in prose_with_phrases(file):
            for phrase in prose.phrases:
                places.setdefault(phrase, []).append(f"{file}:{prose.line}: {prose.text[:200]}")
    return places


def test_texts_are_plain_english() -> None:
    phrases = phrases_below(*(ROOT / folder for folder in FOLDERS))
    assert phrases == {}, "say who does what, in a main clause: docs/glossary.md"


def test_planted_phrases_are_reported(tmp_path: Path) -> None:
    python, typescript = tmp_path / "planted.py", tmp_path / "planted.ts"
    python.write_text(
        '''"""Reads jobs, which is no longer needed."""

def test_run_goes_on(): ...

class Nodes:
    """Those of a job."""

    # A pipe that
    # nobody reads; the code is "nobody-records".
    pipe = "What is no comment"  # Who uses it.
'''
    )
    typescript.write_text(
        """/**
 * What a page shows, which is
 * no page of ours.
 */
const url = "http://nobody"; // a process that is looked into
test("ends after that of the page's", () => {});
"""
    )
    page = f"{typescript}:2: What a page shows, which is no page of ours."
    assert phrases_below(tmp_path) == {
        "begins with": [f"{python}:6: Those of a job.", f"{python}:10: Who uses it.", page],
        "is no": [page],
        "goes on": [f"{python}:3: run goes on"],
        "nobody": [f'{python}:8: A pipe that nobody reads; the code is "nobody-records".'],
        "that of": [
            f"{python}:6: Those of a job.",
            f"{typescript}:6: ends after that of the page's",
        ],
        "looked into": [f"{typescript}:5: a process that is looked into"],
    }
