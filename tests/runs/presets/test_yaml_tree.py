"""The reader for YAML finds the keys that PyYAML finds, on the same lines."""

from __future__ import annotations

import pytest
import yaml
from eagleray.runs.presets.yaml_tree import YamlNode, read_yaml

TEXTS = [
    "a: 1\nb:\n  c: x # y\n\n  # z\n  d: 'it: #'\ne: 2\n",
    "a:\n- b: 1\n  c: 2\n- d\nf: g\n",
    "a:\n  - - b\n    - c: 1\n      d: 2\n  -\n    e: 1\n",
    "a: {b: 1, c: {d: [x, {e: 2}]}, 'f g': h}\nj: []\nk: [l: 1, m]\n",
    "a:\n  {\n    b: 1, # c: 2\n    d: [1,\n      2],\n  }\ne:\n  [1, {f: 2}]\n",
    "a: |\n  b: 1\n\n  c: 2\nd: >-\n  e: 1\nf: 1\n",
    "a: &x\n  b: 1\nc:\n  <<: *x\n  d: 2\ne: *x\n",
    "a: &x 1\nb: !tag {c: 2}\nc: !!str d\n",
    "a: one\n  two\nb: 1\n",
    'a: "one\n  two: 2"\n"b c": 1\n\'d: e\': 2\n',
    "a:\n  one\nb: http://x:1/y#z\nc: a:b\n",
    "---\na: 1\n---\nb: 1\n",
    "# only a comment\n",
    "- a: 1\n- b\n",
    "a:\nb:\n  c:\n",
]


def expected(node: yaml.Node, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], int | None]:
    """The line of each key of a mapping; elements of lists have None."""
    lines: dict[tuple[str, ...], int | None] = {}
    if isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            lines |= {(*path, str(position)): None, **expected(value, (*path, str(position)))}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "<<":
                lines |= expected(value, path)
                continue
            below = (*path, key.value)
            lines |= {below: key.start_mark.line + 1, **expected(value, below)}
    return lines


def read(node: YamlNode, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], int | None]:
    lines: dict[tuple[str, ...], int | None] = {}
    for key, value in (node.children or {}).items():
        below = (*path, key)
        lines |= {below: None if node.is_list else value.line, **read(value, below)}
    return lines


@pytest.mark.parametrize("text", TEXTS)
def test_keys_and_lines_equal_those_in_pyyaml(text: str) -> None:
    reference = next(yaml.compose_all(text, Loader=yaml.SafeLoader), None)
    assert read(read_yaml(text)) == (expected(reference) if reference else {})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: x y # z", "x y"),
        ("a: 'x # y'", "x # y"),
        ('a: "1"', "1"),
        ("a: ${b}_c", "${b}_c"),
        ("a: {b: 1}", ""),
        ("a:", ""),
    ],
)
def test_scalar_has_its_value(text: str, value: str) -> None:
    child = read_yaml(text).child("a")
    assert child is not None
    assert child.value == value


def test_deep_nesting_and_unreadable_lines_end_without_an_error() -> None:
    deep = "\n".join(f"{' ' * i}a:" for i in range(5000))
    assert read_yaml(deep).child("a")
    assert read_yaml("a: " + "[" * 5000).child("a")
    assert read_yaml("a: 1\n}{ : ?\n\tb: 2\nc: 3\n").child("c")
