"""Finds the definitions of a framework's configuration keys in the user's checkout; executes nothing.

How a framework is configured:

- "hydra": a program with `hydra.main`; its primary configuration and the defaults lists.
- "yaml": the YAML file of `--config`, else the program's own, with the files below it, then the class `name`.
- "class": the class that the program passes to the function `name`.
- "flags": the flags of the argument parsers that the program reaches.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from attrs import evolve, frozen

from eagleray.runs.presets.checkout import config_layers, python_source
from eagleray.runs.presets.checkout.config_layers import hydra_layers
from eagleray.runs.presets.checkout.declared import declared
from eagleray.runs.presets.checkout.python_source import ClassFields
from eagleray.runs.presets.checkout_files import Definition, Files, installed_folders
from eagleray.runs.presets.framework_table import Configuration, FrameworkTable, KeyEntry, Offer
from eagleray.runs.presets.recognition import Recognised
from eagleray.runs.scripts.launch_lines import Launch

# verl has about 300 modules.
_MOST_READ = 350
Find = Callable[[str], Definition | None]


@frozen
class StartedProgram:
    """The program that the training line starts: a file or, with `module`, a module, with its arguments.

    `hints` may hold the name of a configuration that a variable of the script holds.
    """

    target: str
    module: bool
    arguments: tuple[str, ...]
    hints: tuple[str, ...] = ()


def key_finder(started: StartedProgram, configuration: Configuration, files: Files) -> Find | None:
    """Finds keys of the program's configuration; None without a configuration to search."""
    for file in programs(started, files):
        tree = python_source.parsed(files, file)
        finder = tree and _READERS[configuration.kind](file, tree, started, configuration, files)
        if finder:
            return finder
    return None


def program_of(target: str, module: bool, files: Files) -> Path | None:
    """The file of the program that a training line starts."""
    return files.module(target) if module else files.located(target, files.near[0])


def programs(started: StartedProgram, files: Files) -> Iterable[Path]:
    """The file that is started and, where that is a launcher, the program among its arguments."""
    base = files.near[0]
    first = program_of(started.target, started.module, files)
    behind = (
        files.located(argument, base) for argument in started.arguments if argument.endswith(".py")
    )
    return (file for file in (first, *behind) if file and file.suffix == ".py")


def _hydra(
    file: Path, tree: ast.Module, started: StartedProgram, _: Configuration, files: Files
) -> Find | None:
    main = python_source.hydra_main(tree)
    layers = hydra_layers(file, main, started.arguments, files, started.hints) if main else []
    return (lambda key: config_layers.find(layers, key, files)) if layers else None


def _yaml(
    file: Path,
    tree: ast.Module,
    started: StartedProgram,
    configuration: Configuration,
    files: Files,
) -> Find | None:
    written = _config_of(started.arguments)
    config = files.located(written, files.near[0]) if written else None
    if not written and (default := python_source.default_config(tree)):
        config = files.located(default, file.parent)
    if config is None or not config.is_file():
        return None
    layers = config_layers.chain(config, files)
    in_class = _class_finder(file, ast.Name(configuration.name), files)
    return lambda key: config_layers.find(layers, key, files) or in_class(key)


def _class(
    file: Path, tree: ast.Module, _: StartedProgram, configuration: Configuration, files: Files
) -> Find | None:
    written = python_source.loaded_class(tree, configuration.name)
    return _class_finder(file, written, files) if written else None


def _flags(
    file: Path, _: ast.Module, started: StartedProgram, __: Configuration, files: Files
) -> Find | None:
    keys = declared(file, started.arguments, files)
    return keys.find if keys and keys.flags else None


def _class_finder(file: Path, written: ast.expr, files: Files) -> Find:
    fields = ClassFields(files)
    module = fields.module(file)
    return lambda key: fields.find(module, written, key.split(".")) if module else None


def _config_of(arguments: Sequence[str]) -> str:
    config = ""
    for i, argument in enumerate(arguments):
        if argument == "--config" and i + 1 < len(arguments):
            config = arguments[i + 1]
        elif argument.startswith("--config="):
            config = argument.partition("=")[2]
    return config


_READERS = {"hydra": _hydra, "yaml": _yaml, "class": _class, "flags": _flags}


@frozen
class CheckoutKeys:
    """Finds the keys of a program's configuration in its checkout."""

    find: Find
    package: Path | None = None
    files: Files | None = None

    def reads(self, key: str) -> Definition | None:
        """Where the program's package reads a key that its configuration doesn't declare, with a default."""
        if self.package is None or self.files is None:
            return None
        name = re.escape(key.rpartition(".")[2])
        pattern = re.compile(rf"\.get\(\s*['\"]{name}['\"]")
        for file in sorted(self.package.rglob("*.py"))[:_MOST_READ]:
            text = self.files.text(file)
            if match := pattern.search(text):
                return Definition(self.files.shown(file), text.count("\n", 0, match.start()) + 1)
        return None

    def is_unguarded(self, key: str) -> bool:
        """Whether the program's package divides by an interval that it never compares with 0, as verl 0.1 does.

        `step % -1` is 0 at every step, so that -1 would not switch it off.
        """
        name = re.escape(key.rpartition(".")[2])
        texts = self._texts()
        division = re.compile(rf"%\s*[\w.]*\b{name}\b")
        guard = re.compile(rf"\b{name}\s*(?:>|<=?|==|!=)\s*-?[01]\b")
        dividing = [text for text in texts if division.search(text)]
        return bool(dividing) and not any(guard.search(division.sub("", text)) for text in texts)

    def is_unread(self, key: str) -> bool:
        """Whether the program's package never names `key` behind its section, as SimpleVLA-RL's fork of verl."""
        section, name = map(re.escape, key.split(".")[-2:]) if "." in key else ("", "")
        use = re.compile(rf"{section}\w*[\"'\])]*\s*(?:\.get\(\s*[\"']|\.|\[[\"']){name}\b")
        texts = self._texts() if section else []
        return bool(texts) and not any(map(use.search, texts))

    def _texts(self) -> list[str]:
        """The texts of the program's package."""
        if self.package is None or self.files is None:
            return []
        return [self.files.text(file) for file in sorted(self.package.rglob("*.py"))[:_MOST_READ]]

    def of_entry(self, entry: KeyEntry, recognised: Recognised) -> Definition | None:
        """Where the key of a table's entry is defined."""
        return self.find(entry.key.replace("{section}", recognised.section))

    def of_offer(self, offer: Offer, recognised: Recognised) -> bool:
        """Whether one of the keys that an option sets is defined."""
        return any(self.of_entry(entry, recognised) for entry in (*offer.entries, *offer.flags))


def checkout_keys(
    recognised: Recognised | None,
    tables: Sequence[FrameworkTable],
    launch: Launch | None,
    folders: Sequence[Path],
    python: str,
    hints: Sequence[str] = (),
) -> tuple[Recognised | None, CheckoutKeys | None]:
    """The framework with the keys of the user's checkout, else of the package installed for `python`.

    No keys for a version that was read, and where no configuration was found.  For a version outside all ranges, the
    table whose keys fit the checkout best is taken.
    """
    if recognised is None or launch is None:
        return recognised, None
    if recognised.table.was_read(recognised.version.text):
        return recognised, None
    arguments = tuple(token.text for token in launch.arguments)
    started = StartedProgram(launch.target, launch.module, arguments, tuple(hints))
    files = Files(folders, installed_folders(python))
    others = [] if recognised.in_range else [t for t in tables if _is_alike(t, recognised.table)]
    best: tuple[Recognised, CheckoutKeys | None] = (recognised, None)
    most = 0
    for table in (recognised.table, *others):
        find = key_finder(started, table.configuration, files) if table.configuration else None
        keys = CheckoutKeys(find, files.package(table.package), files) if find else None
        count = _count(evolve(recognised, table=table), keys)
        if count > most:
            best, most = (evolve(recognised, table=table), keys), count
    return best


def _is_alike(table: FrameworkTable, other: FrameworkTable) -> bool:
    return table.framework == other.framework and table is not other


def _count(recognised: Recognised, keys: CheckoutKeys | None) -> int:
    """How many of the table's options have a key in the checkout."""
    offers = recognised.table.offers.values()
    return sum(keys.of_offer(offer, recognised) for offer in offers) if keys else 0
