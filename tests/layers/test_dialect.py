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
PHRASES = {
    phrase: re.compile(pattern)
    for phrase, pattern in {
    "begins with": r"^(?:Of|Those|Who|Whose|Since|What|That of)\b",
    "is no": r"\b(?:is|are|was|were) no (?!longer\b|more than\b|later\b|older\b|newer\b)",
    "goes on": r"\b(?:goes|went|gone|go|going) on\b(?! to\b)",
    "nobody": r"\b(?:[Nn]obody|[Ss]omebody)\b(?!-)",
    "that of": r"\b(?:[Tt]hat|[Tt]hose) of\b",
    "looked into": r"\b[Ll]ook(?:ed|s|ing)? into\b",
}
FOLDERS = ("pybackend", "extension", "scripts", "tests")
# A file without a match has no phrase, so it isn't parsed.
_BETWEEN_WORDS = re.compile(r"[\s_#/*]+")
_MAYBE = re.compile(r"(?:\"\"\"|#:?|//+|\*)\s*(?:Of|Those|Who|Whose|Since|What|That of)\b")
_MAYBE_WITHIN = re.compile(
    r"(?:is|are|was|were) no |(?:goes|went|gone|go|going) on|omebody|obody|(?:hat|hose) of|ook(?:ed|s|ing)? into"
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
        alone = not token.line[: token.start[1]].strip()
        if text and alone and line == last + 1:
            text, last = f"{text} {added}", line
            continue
        if text:
            yield Prose(first, text)
        first, text, last = line, added, line if alone else -1
    if text:
        yield Prose(first, text)


def typescript_prose(source: str) -> Iterator[Prose]:
    """The comments and test names of a TypeScript module."""
    first, text = 0, ""
    for number, line in enumerate([*source.splitlines(), ""], 1):
        comment = _TYPESCRIPT_COMMENT.match(line)
        opens = line.lstrip().startswith("/*")
        if text and (comment is None or opens):
            yield Prose(first, text.strip())
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
    if not _MAYBE.search(source) and not _MAYBE_WITHIN.search(within):
        return
    is_python = file.suffix == ".py"
    all_prose = python_prose(source) if is_python else typescript_prose(source)
    yield from (prose for prose in all_prose if prose.phrases)


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
                places.setdefault(phrase, []).append(f"{file}:{prose.line}: {prose.text[:100]}")
    return places


def test_texts_are_plain_english() -> None:
    phrases = phrases_below(*(ROOT / folder for folder in FOLDERS))
    assert phrases == {}, "say who does what, in a main clause: docs/glossary.md"


def test_planted_phrases_are_reported(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(
        '''"""Reads jobs, which is no longer needed."""

def test_run_goes_on(): ...

class Nodes:
    """Those of a job."""

    # A pipe that
    # nobody reads: "nobody-records" is a code, and a text is not read.
    pipe = "What is no comment"  # Who uses it.
'''
    )
    (tmp_path / "planted.ts").write_text(
        """/**
 * What a page shows, which is
 * no page of ours.
 */
const url = "http://nobody"; // a process that is looked into
test("ends after that of the page's", () => {});
"""
    )
    python, typescript = tmp_path / "planted.py", tmp_path / "planted.ts"
    page = "What a page shows, which is no page of ours."
    assert phrases_below(tmp_path) == {
        "goes on": [f"{python}:3: run goes on"],
        
    }.items()
}
FOLDERS = ("pybackend", "extension", "scripts", "tests")
# A file without a match has no phrase, so it isn't parsed.
_BETWEEN_WORDS = re.compile(r"[\s_#/*]+")
_MAYBE = re.compile(r"(?:\"\"\"|#:?|//+|\*)\s*(?:Of|Those|Who|Whose|Since|What|That of)\b")
_MAYBE_WITHIN = re.compile(
    r"(?:is|are|was|were) no |(?:goes|went|gone|go|going) on|omebody|obody|(?:hat|hose) of|ook(?:ed|s|ing)? into"
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
        alone = not token.line[: token.start[1]].strip()
        if text and alone and line == last + 1:
            text, last = f"{text} {added}", line
            continue
        if text:
            yield Prose(first, text)
        first, text, last = line, added, line if alone else -1
    if text:
        yield Prose(first, text)


def typescript_prose(source: str) -> Iterator[Prose]:
    """The comments and test names of a TypeScript module."""
    first, text = 0, ""
    for number, line in enumerate([*source.splitlines(), ""], 1):
        comment = _TYPESCRIPT_COMMENT.match(line)
        opens = line.lstrip().startswith("/*")
        if text and (comment is None or opens):
            yield Prose(first, text.strip())
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
    if not _MAYBE.search(source) and not _MAYBE_WITHIN.search(within):
        return
    is_python = file.suffix == ".py"
    all_prose = python_prose(source) if is_python else typescript_prose(source)
    yield from (prose for prose in all_prose if prose.phrases)


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
                places.setdefault(phrase, []).append(f"{file}:{prose.line}: {prose.text[:100]}")
    return places


def test_texts_are_plain_english() -> None:
    phrases = phrases_below(*(ROOT / folder for folder in FOLDERS))
    assert phrases == {}, "say who does what, in a main clause: docs/glossary.md"


def test_planted_phrases_are_reported(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(
        '''"""Reads jobs, which is no longer needed."""

def test_run_goes_on(): ...

class Nodes:
    """Those of a job."""

    # A pipe that
    # nobody reads: "nobody-records" is a code, and a text is not read.
    pipe = "What is no comment"  # Who uses it.
'''
    )
    (tmp_path / "planted.ts").write_text(
        """/**
 * What a page shows, which is
 * no page of ours.
 */
const url = "http://nobody"; // a process that is looked into
test("ends after that of the page's", () => {});
"""
    )
    python, typescript = tmp_path / "planted.py", tmp_path / "planted.ts"
    page = "What a page shows, which is no page of ours."
    assert phrases_below(tmp_path) == {
        "goes on": [f"{python}:3: run goes on"],
        "begins with": [
            f"{python}:6: Those of a job.",
            f"{python}:10: Who uses it.",
            f"{typescript}:2: {page}",
        ],
        "that of": [
            f"{python}:6: Those of a job.",
            f"{typescript}:6: ends after that of the page's",
        ],
        "nobody": [
            f'{python}:8: A pipe that nobody reads: "nobody-records" is a code, and a text is not read.'
        ],
        "is no": [f"{typescript}:2: {page}"],
        "looked into": [f"{typescript}:5: a process that is looked into"],
    }
