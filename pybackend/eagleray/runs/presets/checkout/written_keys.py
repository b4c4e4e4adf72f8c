"""Keys that a line or its configuration file sets, for programs that declare none where they can be found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.runs.presets.checkout_files import Definition, Files, is_file
from eagleray.runs.presets.framework_table import Syntax
from eagleray.runs.presets.yaml_tree import YamlNode, read_yaml
from eagleray.runs.scripts.launch_lines import LineWord, value_of

_FILE = re.compile(r".+\.(?:ya?ml|json|toml)")
# An agent's or a server's file has no learning rate.
_OF_TRAINING = re.compile(r"\b(?:lr|learning_rate|optim|optimizer)\b", re.IGNORECASE)
_SECTION = re.compile(r"\s*\[(?P<path>[\w.-]+)\]\s*(?:#.*)?")
_ENTRY = re.compile(r"""\s*["']?(?P<key>[A-Za-z_][\w-]*)["']?\s*[:=]\s*[^\s{\[]""")
_SETTING = re.compile(r"\+{0,2}[A-Za-z_][\w.]*=.*", re.DOTALL)


@frozen
class WrittenKeys:
    """`at` gives the value of a key in the script or file `name`.  `syntax` "none": in a file."""

    syntax: Syntax
    name: str
    at: Callable[[str], YamlNode | None]
    switches: frozenset[str] = frozenset()

    def find(self, key: str) -> Definition | None:
        node = self.at(key)
        name = self.name if node and node.line else t("command")
        return Definition(name, max(node.line, 1)) if node else None

    def is_list(self, key: str) -> bool:
        node = self.at(key)
        return node is not None and node.value.lstrip("\"'").startswith("[")

    def allows(self, key: str, _: str) -> bool:
        return self.at(key) is not None


def keys_of_line(arguments: Sequence[LineWord], name: str) -> WrittenKeys:
    """The keys that the line in the script `name` gives a value."""
    settings = sum(bool(_SETTING.fullmatch(word.text)) for word in arguments)
    options = sum(word.text.startswith("--") for word in arguments)
    syntax: Syntax = "dotlist" if settings > options else "argparse"

    def at(key: str) -> YamlNode | None:
        word, value = value_of(arguments, key, syntax) or (None, None)
        after = arguments[arguments.index(word) + 1 :] if word else ()
        is_switch = (
            "=" not in word.text and (not after or after[0].text.startswith("--")) if word else True
        )
        return None if word is None or is_switch else YamlNode(word.line, value or "")

    return WrittenKeys(syntax, name, at)


def keys_of_file(arguments: Iterable[LineWord], files: Files) -> WrittenKeys | None:
    """The keys of the configuration file of a training that the line names, maybe below a folder that it names."""
    values = [word.text.rpartition("=")[2].lstrip("@") for word in arguments]
    base = files.near[0]
    folders = [base, *(base / value for value in values if re.fullmatch(r"[\w./-]+", value))]
    for value in values if any(map(_FILE.fullmatch, values)) else ():
        located = (files.located(value, folder) for folder in folders if _FILE.fullmatch(value))
        file = next(filter(None, located), None)
        text = files.text(file) if file and is_file(file) else ""
        if file and _OF_TRAINING.search(text):
            root = read_yaml(text)
            return WrittenKeys(
                "none", files.shown(file), root.at if root.children else _nodes(text).get
            )
    return None


def _nodes(text: str) -> dict[str, YamlNode]:
    """The plain values of TOML, and of the outermost braces of JSON."""
    nodes: dict[str, YamlNode] = {}
    section, depth = "", 0
    outermost = 1 if text.lstrip().startswith(("{", "#", "//")) and "{" in text else 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := _SECTION.fullmatch(line):
            section, outermost, depth = f"{header['path']}.", 0, 0
        elif (entry := _ENTRY.match(line)) and depth == outermost:
            key = f"{section}{entry['key']}".replace("-", "_")
            nodes.setdefault(key, YamlNode(number, line[entry.end() - 1 :].strip()))
        depth += line.count("{") - line.count("}")
    return nodes
