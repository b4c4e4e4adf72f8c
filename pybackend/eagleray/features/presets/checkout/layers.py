"""YAML files placed over one another, and the search for a key in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eagleray.features.presets.checkout.files import Definition, Files
from eagleray.features.presets.checkout.yaml_tree import Node, read_yaml

_DEEPEST = 20


@dataclass(frozen=True)
class Layer:
    """A file whose keys are placed below `package`."""

    package: tuple[str, ...]
    file: Path
    root: Node


def find(layers: Sequence[Layer], key: str, files: Files) -> Definition | None:
    """Where the last layer that has `key` defines it.

    A layer that sets a parent of the key to a plain value hides those before it.
    """
    path = tuple(key.split("."))
    for layer in reversed(layers):
        shared = min(len(path), len(layer.package))
        if path[:shared] != layer.package[:shared]:
            continue
        node = layer.root
        for part in path[shared:]:
            below = node.child(part)
            if below is None:
                if node.children is None and node.value:
                    return None
                break
            node = below
        else:
            line = node.line if len(path) > shared else 1
            return Definition(files.shown(layer.file), line)
    return None


def chain(file: Path, files: Files, depth: int = 0) -> list[Layer]:
    """A YAML file below whose `defaults` lie other files, relative to it."""
    root = read_yaml(files.text(file))
    defaults = root.child("defaults")
    below = [
        layer
        for one in (defaults.items() if defaults and depth < _DEEPEST else ())
        if (parent := file.parent / one.value).is_file()
        for layer in chain(parent, files, depth + 1)
    ]
    return [*below, Layer((), file, root)]
