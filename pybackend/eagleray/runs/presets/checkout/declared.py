"""Finds the keys that a program of any framework declares for its configuration; executes nothing.

It reads the definitions that the program reaches by name, those for arguments and configurations first:

1. `hydra.main`: the YAML files that are composed.  A line can override them.
2. `OmegaConf.from_cli` or `from_dotlist`: YAML files, structured classes and dictionaries of the source.
3. An argument parser: its flags, and the fields of the classes that it is made of.
4. `compose` or `OmegaConf.load` alone: the YAML file, which the line can't override.
"""

from __future__ import annotations

import ast
import heapq
import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from attrs import define, field, frozen

from eagleray.runs.presets.checkout import config_layers, python_source
from eagleray.runs.presets.checkout.config_layers import Layer
from eagleray.runs.presets.checkout.python_source import ClassFields, HydraMain, Module
from eagleray.runs.presets.checkout_files import Definition, Files, is_file
from eagleray.runs.presets.framework_table import Syntax

# Reaching the argument groups of Megatron-LM, the deepest that were read, takes 130 definitions.
_MOST_DEFINITIONS = 150
_DEEPEST = 8
# A list of classes may hold itself many times.
_MOST_LOOKUPS = 2000
# Where a program names its YAML file.
_NEAR = 3
_NAME = re.compile(r"[\w./-]{2,80}")
_LIKELY = re.compile(r"arg|config|parse|main|init|cli|option|sft|rlhf|train|run|setup|build", re.I)
# `HfArgumentParser` of transformers, `TrlParser` of TRL; a factory names the flags with hyphens (Megatron-LM).
_PARSER = re.compile(r"\w+Parser|ArgumentParser\w+")
_FACTORY = re.compile(r"\w*Arg\w*Factory")
_FROM_LINE = frozenset({"from_cli", "from_dotlist"})
# The values that a field may have, within its first lines.
_LITERAL = re.compile(r"\s*\w+\s*:\s*(?:[\w.]+\[\s*)*?(?:[\w.]+\.)?Literal\[(?P<values>[^\]]*)\]")
_LINES = 6
# The head of a section of YAML: `logger:` of RLinf.
_HEAD = re.compile(r"""(?P<indent> *)["']?[\w-]+["']?: *(?P<open>\{)?(?(open)|(?:#.*)?$)""")
_LONGEST = 300
# A value of YAML that is another key's.
_LINK = re.compile(
    r"""\s*["']?[\w-]+["']?:\s*["']?\$\{(?P<dots>\.*)(?P<path>\w[\w.]*)\}["']?\s*(?:#.*)?(?:\n|$)"""
)
# A switch or a share of an epoch (Lightning) as the value in YAML, or the default of a field.
_DEFAULT = re.compile(
    r"""\s*["']?[\w-]+["']?\s*(?::[^=\n#]*=|:)\s*(?:(?P<switch>true|false)|(?P<share>\d*\.\d+))\s*(?:[,#\n]|$)""",
    re.IGNORECASE,
)
# Class attributes that name the class of the arguments (ms-swift).
_ARGUMENTS = re.compile(r"\w*(?:args|arguments|config)_(?:class|cls)")


@frozen
class Declared:
    """The keys of one program.  `syntax` "none": its line overrides nothing.  `switches` are flags without a value."""

    syntax: Syntax
    files: Files
    flags: dict[str, int]
    flag_files: dict[str, Path]
    switches: frozenset[str]
    classes: tuple[tuple[Module, ast.expr, str], ...]
    layers: tuple[Layer, ...]
    literals: tuple[tuple[Path, ast.Dict], ...]
    fields: ClassFields
    choices: dict[str, frozenset[str]]

    def find(self, key: str) -> Definition | None:
        """Where `key` is declared, as the line writes it."""
        if key in self.flags:
            return Definition(self.files.shown(self.flag_files[key]), self.flags[key])
        if self.layers and (place := config_layers.find(self.layers, key, self.files)):
            return place
        for file, literal in self.literals:
            if line := _line_of(literal, key.split(".")):
                return Definition(self.files.shown(file), line)
        for module, written, style in self.classes:
            if style and not re.fullmatch(rf"--[a-z0-9]+(?:{style}[a-z0-9]+)*", key):
                continue
            name = key.removeprefix("--").replace("-", "_") if style else key
            if place := self.fields.find(module, written, name.split(".")):
                return place
        return None

    def source(self, key: str) -> str:
        """The key whose value a YAML file gives to `key`, as `${.dpo.max_steps}` does; else itself."""
        place = self.find(key) if self.layers else None
        link = _LINK.match(self._text_at(place)) if place else None
        if link is None:
            return key
        above = key.split(".")[: -len(link["dots"])] if link["dots"] else []
        source = ".".join([*above, link["path"]])
        return source if self.find(source) else key

    def is_list(self, key: str) -> bool:
        """Whether the line that declares a key holds a list."""
        place = self.find(key)
        written = self._text_at(place).partition("\n")[0] if place else ""
        return re.search(r"[\[(]|\b(?:List|Tuple)\b|:\s*$", written) is not None

    def allows(self, key: str, value: str) -> bool:
        """Whether `key` is declared, and nothing in its declaration excludes `value`: a list of values, or the default."""
        place = self.find(key)
        if place is None or key in self.flags:
            return place is not None and value in self.choices.get(key, {value})
        text = self._text_at(place)
        if listed := _LITERAL.match(text):
            return value in re.findall(r"[\w.-]+", listed["values"])
        if _is_section(text):
            return False
        default = _DEFAULT.match(text)
        if default and default["switch"]:
            return value in ("true", "false")
        return not (default and default["share"] and value.isdecimal())

    def _text_at(self, place: Definition) -> str:
        """The text that begins with the line of a declaration."""
        # A file of an installed package is shown with the folder `site-packages`.
        folders = (folder for root in self.files.roots for folder in (root, root.parent))
        base = next((folder for folder in folders if is_file(folder / place.file)), None)
        lines = self.files.text(base / place.file).splitlines() if base else []
        return "\n".join(line[:_LONGEST] for line in lines[place.line - 1 : place.line + _LINES])


def declared(
    file: Path, arguments: Sequence[str], files: Files, hints: Sequence[str] = ()
) -> Declared | None:
    """Returns what the program `file` declares; None if it reads no configuration that is recognised."""
    reader = _ProgramReader(file, files)
    if not reader.read():
        return None
    layers = reader.layers(arguments, hints)
    syntax = reader.syntax(bool(layers))
    style = "" if syntax in ("hydra", "dotlist", "none") else "_"
    classes = [
        (module, name, own if style else "")
        for module, name, own in reader.of_program or reader.classes
    ]
    if not (layers or classes or reader.flags or reader.literals):
        return None
    return Declared(
        syntax,
        files,
        reader.flags,
        reader.flag_files,
        frozenset(reader.switches),
        tuple(classes),
        tuple(layers),
        tuple(reader.literals if syntax == "dotlist" else ()),
        reader.fields,
        reader.choices,
    )


@define
class _ProgramReader:
    file: Path
    files: Files
    fields: ClassFields = field(init=False)
    calls: set[str] = field(factory=set)
    main: HydraMain | None = None
    flags: dict[str, int] = field(factory=dict)
    flag_files: dict[str, Path] = field(factory=dict)
    switches: set[str] = field(factory=set)
    choices: dict[str, frozenset[str]] = field(factory=dict)
    classes: list[tuple[Module, ast.expr, str]] = field(factory=list)
    literals: list[tuple[Path, ast.Dict]] = field(factory=list)
    texts: list[str] = field(factory=list)
    # A program's own parser is the one that reads its line, whatever parsers its modules make.
    of_program: list[tuple[Module, ast.expr, str]] = field(factory=list)
    by_attribute: list[tuple[Module, ast.expr, str]] = field(factory=list)
    depth_of_attribute: int = _DEEPEST
    overridden: bool = False
    lookups: int = 0

    def __attrs_post_init__(self) -> None:
        self.fields = ClassFields(self.files)

    def read(self) -> bool:
        """Reads what the program reaches; whether it could be read."""
        module = self.fields.module(self.file)
        if module is None:
            return False
        for depth, owner, node in self._reached(module):
            self._definition(depth, owner, node)
        return True

    def syntax(self, composed: bool) -> Syntax:
        if self.main and composed:
            return "hydra"
        if self.calls & _FROM_LINE:
            return "dotlist"
        if "compose" in self.calls and not self.overridden:
            return "none"
        return "argparse"

    def layers(self, arguments: Sequence[str], hints: Sequence[str]) -> list[Layer]:
        """The YAML files of the configuration."""
        if self.main:
            return config_layers.hydra_layers(self.file, self.main, arguments, self.files, hints)
        values = [value for item in arguments for value in (item, item.rpartition("=")[2])]
        for value in values if self.calls & {*_FROM_LINE, "load"} else ():
            file = self.files.located(value, self.files.near[0]) if _is_yaml(value) else None
            if file and is_file(file):
                return config_layers.chain(file, self.files)
        if "compose" not in self.calls:
            return []
        return self._composed(arguments)

    def _composed(self, arguments: Sequence[str]) -> list[Layer]:
        """The configuration that `compose` is called for: its names are options of the line or texts of the source."""
        options = dict(_options(arguments))
        folders = [options.get("config_path", ""), *self.texts, *map(str, self.files.near)]
        names = [options.get("config_name", ""), *self.texts]
        for folder in filter(None, folders):
            place = self.files.package(folder) or self.files.located(folder, self.file.parent)
            for name in filter(None, names):
                if place and is_file(place / f"{name.removesuffix('.yaml')}.yaml"):
                    main = HydraMain(str(place), name)
                    return config_layers.hydra_layers(self.file, main, (), self.files)
        return []

    def _reached(self, start: Module) -> Iterator[tuple[int, Module, ast.AST]]:
        """Definitions by their distance from the program, likely names first."""
        order = count()
        own = {*start.functions, *start.classes}
        rest = [node for node in start.tree.body if getattr(node, "name", "") not in own]
        waiting: list[tuple[int, int, int, Module, ast.AST]] = []
        own_nodes: list[ast.AST] = [*rest, *start.functions.values(), *start.classes.values()]
        for node in own_nodes:
            heapq.heappush(waiting, (0, 0, next(order), start, node))
        visited: set[int] = {id(item[4]) for item in waiting}
        for _ in range(_MOST_DEFINITIONS):
            if not waiting:
                return
            _, depth, _, module, node = heapq.heappop(waiting)
            yield depth, module, node
            for name in _names(node) if depth < _DEEPEST else ():
                target = self.fields.definition(module, name)
                if target is None or id(target[1]) in visited or not self._is_own(target[0].file):
                    continue
                visited.add(id(target[1]))
                rank = depth + 1 if _LIKELY.search(name) else depth + 1 + _DEEPEST
                heapq.heappush(waiting, (rank, depth + 1, next(order), *target))

    def _is_own(self, file: Path) -> bool:
        """Whether a file belongs to the checkout or to the package of the program."""
        return (
            not self.files.is_installed(file)
            or self.files.shown(file).split("/")[:2] == (self.files.shown(self.file).split("/")[:2])
        )

    def _definition(self, depth: int, module: Module, node: ast.AST) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                name = _last(inner.func)
                self.calls.add(name)
                given = {keyword.arg for keyword in inner.keywords}
                self.overridden |= name == "compose" and "overrides" in given
                self._flag(inner, name, module)
                self._structured(inner, name, module, depth)
                if _PARSER.fullmatch(name) or _FACTORY.fullmatch(name):
                    style = "-" if _FACTORY.fullmatch(name) else "_"
                    before = len(self.classes)
                    for written in _given_to(inner, node):
                        self._add(module, written, style, depth)
                    self.of_program += [] if depth else self.classes[before:]
            elif isinstance(inner, ast.Dict) and any(isinstance(v, ast.Dict) for v in inner.values):
                self.literals.append((module.file, inner))
            elif isinstance(inner, ast.Constant) and depth < _NEAR:
                text = python_source.text_of_constant(inner)
                self.texts += [text] if _NAME.fullmatch(text) else []
        for statement in node.body if isinstance(node, ast.ClassDef) else ():
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            if isinstance(statement, ast.Assign) and _ARGUMENTS.fullmatch(_last(targets[0])):
                self._nearest(module, statement.value, depth)
        if isinstance(node, ast.FunctionDef) and (
            main := python_source.hydra_main_of(node, module.tree)
        ):
            self.main = self.main or main

    def _flag(self, call: ast.Call, name: str, module: Module) -> None:
        """A call such as `add_argument("--steps")`, or of a function that is given parser and flag."""
        positions = call.args if name == "add_argument" else call.args[1:2]
        for argument in positions:
            text = python_source.text_of_constant(argument)
            if text.startswith("--") and text not in self.flags:
                self.flags[text], self.flag_files[text] = call.lineno, module.file
                actions = [k.value for k in call.keywords if k.arg == "action"]
                if any(python_source.text_of_constant(a) == "store_true" for a in actions):
                    self.switches.add(text)
                for listed in (k.value for k in call.keywords if k.arg == "choices"):
                    if isinstance(listed, (ast.List, ast.Tuple)):
                        values = map(python_source.text_of_constant, listed.elts)
                        self.choices[text] = frozenset(values)

    def _structured(self, call: ast.Call, name: str, module: Module, depth: int) -> None:
        """`structured(C)`, `structured(C())` and `C.from_cli_overrides(…)`."""
        if name == "structured" and call.args:
            first = call.args[0]
            self._add(module, first.func if isinstance(first, ast.Call) else first, "_", depth)
        elif name.startswith("from_cli") and isinstance(call.func, ast.Attribute):
            self._add(module, call.func.value, "_", depth, name)

    def _add(
        self, module: Module, written: ast.expr, style: str, depth: int, method: str = ""
    ) -> None:
        """A class of arguments, or a list of them.

        A class with `method` may also be named by the function that makes it.
        """
        self.lookups += 1
        target = self.fields.definition(module, python_source.name_of(written))
        if target is None or depth > _DEEPEST or self.lookups > _MOST_LOOKUPS:
            return
        owner, node = target
        if isinstance(node, ast.Call) and method:
            self._add(owner, node.func, style, depth + 1, method)
        elif isinstance(node, ast.FunctionDef) and method:
            for made in _names(node):
                origin = self.fields.definition(owner, made)
                if origin and _has_method(origin[1], method):
                    self._add(owner, ast.Name(made), style, depth)
        elif isinstance(node, (ast.List, ast.Tuple)):
            for item in node.elts:
                self._add(owner, item, style, depth + 1)
        if not isinstance(node, ast.ClassDef) or not _has_fields(node):
            return
        self.classes.append((module, written, style))

    def _nearest(self, module: Module, written: ast.expr, depth: int) -> None:
        """The class that an attribute names; an attribute of a base class counts less than one of the class."""
        if depth < self.depth_of_attribute:
            self.depth_of_attribute = depth
            self.classes = [item for item in self.classes if item not in self.by_attribute]
            self.by_attribute.clear()
        if depth == self.depth_of_attribute:
            before = len(self.classes)
            self._add(module, written, "_", depth)
            self.by_attribute += self.classes[before:]


def _names(node: ast.AST) -> list[str]:
    return list(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name)))


def _given_to(call: ast.Call, node: ast.AST) -> Iterator[ast.expr]:
    """The classes that a parser is given, which may be in a variable of the definition `node`."""
    names = {name for argument in call.args for name in _names(argument)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign) and _last(inner.targets[0]) in names:
            names |= set(_names(inner.value))
    attributes = [
        inner for a in call.args for inner in ast.walk(a) if isinstance(inner, ast.Attribute)
    ]
    yield from (*map(ast.Name, sorted(names)), *attributes)


def _last(node: ast.expr) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _has_method(node: ast.AST, name: str) -> bool:
    items = node.body if isinstance(node, ast.ClassDef) else []
    return any(isinstance(item, ast.FunctionDef) and item.name == name for item in items)


def _has_fields(node: ast.ClassDef) -> bool:
    names = [getattr(item, "func", item) for item in node.decorator_list]
    return "dataclass" in map(_last, names) or any(
        isinstance(item, ast.AnnAssign) for item in node.body
    )


def _is_section(text: str) -> bool:
    """Whether the first line of YAML has keys below it."""
    first, *rest = text.splitlines() or [""]
    head = _HEAD.match(first)
    below = next((line for line in rest if line.strip() and line.lstrip()[0] != "#"), "")
    is_deeper = head and len(below) - len(below.lstrip()) > len(head["indent"])
    return bool(head and (head["open"] or (is_deeper and below.lstrip()[0] != "-")))


def _is_yaml(text: str) -> bool:
    return text.endswith((".yaml", ".yml"))


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    for i, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name.startswith("--") and (equals or i + 1 < len(arguments)):
            yield name[2:].replace("-", "_"), value if equals else arguments[i + 1]


def _line_of(literal: ast.Dict, path: Sequence[str]) -> int:
    """The line of the key at `path` in a nested dictionary, 0 if it has none."""
    for key, value in zip(literal.keys, literal.values, strict=True):
        if key is not None and python_source.text_of_constant(key) == path[0]:
            if len(path) == 1:
                return key.lineno
            return _line_of(value, path[1:]) if isinstance(value, ast.Dict) else 0
    return 0
