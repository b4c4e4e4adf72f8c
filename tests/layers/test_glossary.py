"""Identifiers keep the words that docs/glossary.md replaces out, or at least become no more."""

from __future__ import annotations

import ast
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# How many identifiers of the product still have such a word: `UPDATE_EXPECT=1` lowers a number, none may rise.
LEFT = Path(__file__).parent / "golden" / "replaced_words.json"
# The words of the glossary's second table that have no other meaning in an identifier.
REPLACED = frozenset(
    [
        "anew",
        "asked",
        "begun",
        "far",
        "found",
        "gate",
        "gates",
        "keeper",
        "keepers",
        "kept",
        "known",
        "landing",
        "leaving",
        "look",
        "looks",
        "losing",
        "mend",
        "mended",
        "one",
        "person",
        "said",
        "says",
        "seen",
        "somebody",
        "stand",
        "standing",
        "stands",
        "tell",
        "tells",
        "told",
        "unkept",
        "way",
        "ways",
        "who",
        "whoever",
        "words",
    ]
)
_NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def words_of(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def python_identifiers(source: str) -> Iterator[str]:
    """The names that the source defines: classes, functions, arguments, variables, attributes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def typescript_identifiers(source: str) -> Iterator[str]:
    yield from re.findall(r"[A-Za-z_]\w+", _NO_CODE.sub(" ", source))


def replaced_words(python: Path, typescript: Path) -> Counter[str]:
    """How many identifiers of each file and folder have each of the words; file names count too."""
    found: Counter[str] = Counter()
    for file in sorted([*python.rglob("*.py"), *typescript.rglob("*.ts")]):
        read = python_identifiers if file.suffix == ".py" else typescript_identifiers
        names = {file.stem, *read(file.read_text())}
        found.update(word for name in names for word in set(words_of(name)) & REPLACED)
    return found


def test_replaced_words_become_no_more() -> None:
    now = replaced_words(ROOT / "pybackend" / "eagleray", ROOT / "extension")
    if os.environ.get("UPDATE_EXPECT"):
        LEFT.write_text(json.dumps(dict(sorted(now.items())), indent=2) + "\n")
    allowed = json.loads(LEFT.read_text())
    more = {word: count for word, count in now.items() if count > allowed.get(word, 0)}
    assert more == {}, "use the words of docs/glossary.md"


def test_planted_word_is_found(tmp_path: Path) -> None:
    (tmp_path / "far_files.py").write_text(
        "class Keeper:\n    def look(self, asked): self.told = 1\n"
    )
    (tmp_path / "a.ts").write_text('// gate\nconst wordsOfNsys = "person";\n')
    assert set(replaced_words(tmp_path, tmp_path)) == {
        "far",
        "keeper",
        "look",
        "asked",
        "told",
        "words",
    }
