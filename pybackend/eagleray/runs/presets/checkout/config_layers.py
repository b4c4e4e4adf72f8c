"""Finds the YAML files that a configuration is composed of, and keys in them, by reading the defaults lists.

1. The primary configuration comes from `hydra.main` and `--config-path`, `--config-name` of the command.
2. Other files are looked for in its folder, in `--config-dir`, and in the folders of `hydra.searchpath`.
3. Each entry of a defaults list places a file at a package.  Overrides of the command choose between files.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

from attrs import define, field, frozen

from eagleray.runs.presets.checkout.python_source import HydraMain
from eagleray.runs.presets.checkout_files import Definition, Files, is_file
from eagleray.runs.presets.yaml_tree import YamlNode, read_yaml

_DEEPEST = 20
_MOST_LAYERS = 300
_HEADER = re.compile(r"^#\s*@package\s+(\S+)", re.MULTILINE)
_CHOICE = re.compile(r"\$\{([\w/@.]+)\}")
_OPTIONS = {
    "--config-path": "path",
    "-cp": "path",
    "--config-name": "name",
    "-cn": "name",
    "--config-dir": "dir",
    "-cd": "dir",
}


def hydra_layers(
    program: Path,
    main: HydraMain,
    arguments: Sequence[str],
    files: Files,
    hints: Sequence[str] = (),
) -> list[Layer]:
    """The layers of the configuration that `program` composes with these arguments; none if it isn't found.

    If the name of the configuration is a variable, the first of `hints` that names one is taken.
    """
    given = _given(arguments)
    folder = files.located(given.get("path") or main.config_path or ".", program.parent)
    name = (given.get("name") or main.config_name).removesuffix(".yaml")
    if main.config_path.startswith("pkg://") and "path" not in given:
        folder = files.package(main.config_path.removeprefix("pkg://"))
    if folder and "$" in name:
        name = next((hint for hint in hints if hint and is_file(folder / f"{hint}.yaml")), "")
    if folder is None or not name:
        return []
    extra = files.located(given["dir"], program.parent) if "dir" in given else None
    composer = _Composer(
        files, program, [item for item in (folder, extra) if item], _choices(arguments)
    )
    composer.add(name, (), 0)
    composer.add_groups()
    return composer.layers


@define
class _Composer:
    files: Files
    program: Path
    folders: list[Path]
    choices: dict[str, str]
    chosen: dict[str, str] = field(factory=dict)
    layers: list[Layer] = field(factory=list)
    used: set[str] = field(factory=set)

    def add(self, path: str, package: tuple[str, ...], depth: int) -> None:
        """The configuration `path`, placed at `package`, above the configurations of its defaults list."""
        file = self._file(path)
        if file is None or depth > _DEEPEST or len(self.layers) >= _MOST_LAYERS:
            return
        text = self.files.text(file)
        root = read_yaml(text)
        header = _HEADER.match(text.lstrip())
        if header and header[1] == "_global_":
            package = ()
        if depth == 0:
            self._search(root)
        defaults = root.child("defaults")
        entries = defaults.items() if defaults else []
        self._override(entries)
        layer = Layer(package, file, root)
        placed = False
        for entry in entries:
            if entry.value == "_self_":
                self.layers.append(layer)
                placed = True
            else:
                self._entry(entry, posixpath.dirname(path), package, depth)
        if not placed:
            self.layers.append(layer)

    def _override(self, entries: Sequence[YamlNode]) -> None:
        """Takes up the choices for groups of the other entries, wherever they are in the list."""
        for entry in entries:
            for key, option in (entry.children or {}).items():
                if key.startswith("override "):
                    self.choices.setdefault(key.rpartition(" ")[2], option.value)

    def add_groups(self) -> None:
        """Groups that the command adds to the defaults list."""
        for group, option in list(self.choices.items()):
            path, _, package = group.partition("@")
            if group not in self.used and self._file(f"{path}/{option}"):
                self.add(f"{path}/{option}", _package(package or path), 1)

    def _entry(self, entry: YamlNode, folder: str, package: tuple[str, ...], depth: int) -> None:
        """One entry of the defaults list of a file in `folder` that is placed at `package`."""
        if entry.children is None:
            written, _, below = entry.value.partition("@")
            path = _joined(folder, written)
            place = below or posixpath.dirname(written.lstrip("/"))
            self.add(path, _placed(package, place), depth + 1)
            return
        for key, option in entry.children.items():
            kind, _, group = key.rpartition(" ")
            if kind == "override":
                continue
            written, _, below = group.partition("@")
            target = _placed(package, below or written.lstrip("/"))
            for chosen in self._chosen(_joined(folder, written), target, option):
                self.add(_joined(folder, f"{written}/{chosen}"), target, depth + 1)

    def _chosen(self, group: str, place: tuple[str, ...], option: YamlNode) -> list[str]:
        """The options of a group: from the command or a parent, else from the entry."""
        names = [f"{group}@{'.'.join(place)}"]
        if place == _package(group):
            names.append(group)
        self.used.update(names)
        override = next((self.choices[name] for name in names if name in self.choices), "")
        written = [override] if override else [item.value for item in option.items()]
        options = [self._interpolated(item) for item in written]
        if len(options) == 1:
            self.chosen[group] = options[0]
        return [item for item in options if item not in ("", "null")]

    def _interpolated(self, written: str) -> str:
        return _CHOICE.sub(lambda reference: self.chosen.get(reference[1], reference[0]), written)

    def _file(self, path: str) -> Path | None:
        name = path.removesuffix(".yaml") + ".yaml"
        return next((folder / name for folder in self.folders if is_file(folder / name)), None)

    def _search(self, root: YamlNode) -> None:
        """Adds the folders that the primary configuration names."""
        hydra = root.child("hydra")
        named = hydra.child("searchpath") if hydra else None
        for entry in named.items() if named else ():
            kind, _, written = entry.value.partition("://")
            folder = (
                self.files.package(written)
                if kind == "pkg"
                else self.files.located(written or kind, self.files.near[0])
            )
            if folder:
                self.folders.append(folder)


def _given(arguments: Sequence[str]) -> dict[str, str]:
    """The values of Hydra's own options, by kind."""
    given: dict[str, str] = {}
    for i, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in _OPTIONS and (equals or i + 1 < len(arguments)):
            given[_OPTIONS[name]] = value if equals else arguments[i + 1]
    return given


def _choices(arguments: Sequence[str]) -> dict[str, str]:
    """Overrides that may choose an option of a group."""
    pairs = (
        argument.lstrip("+").partition("=")
        for argument in arguments
        if not argument.startswith("-")
    )
    return {key: value.strip("\"'") for key, equals, value in pairs if equals and value}


def _joined(folder: str, written: str) -> str:
    if written.startswith("/"):
        return written.lstrip("/")
    return posixpath.normpath(posixpath.join(folder, written))


def _placed(parent: tuple[str, ...], written: str) -> tuple[str, ...]:
    first, _, rest = written.partition(".")
    if first == "_global_":
        return _package(rest)
    if first == "_here_":
        return (*parent, *_package(rest))
    return (*parent, *_package(written))


def _package(written: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[./]+", written) if part)


_DEEPEST = 20


@frozen
class Layer:
    """A file whose keys are placed below `package`."""

    package: tuple[str, ...]
    file: Path
    root: YamlNode


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
        for entry in (defaults.items() if defaults and depth < _DEEPEST else ())
        if is_file(parent := file.parent / entry.value)
        for layer in chain(parent, files, depth + 1)
    ]
    return [*below, Layer((), file, root)]
