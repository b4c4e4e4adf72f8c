"""Which framework a training line belongs to, and in which version, without executing anything.

1. The module that is run is one of a framework's.
2. The program that is run imports a framework's package.
3. Its version is what the version file of the person's checkout says, else the installed package's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from eagleray.features.runs.presets.launch import Launch
from eagleray.features.runs.presets.table import Table
from eagleray.features.runs.presets.versions import Order, order_of

_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+(?P<package>[A-Za-z_]\w*)", re.MULTILINE)
# Older than every version.
_NONE: Order = ((), 0, 0)
_RUN_MODULE = re.compile(r"-m\s+(?P<module>[A-Za-z_][\w.]*)")


@dataclass(frozen=True)
class Version:
    """A version and where it was read."""

    text: str
    where: str


@dataclass(frozen=True)
class Recognised:
    """A framework: its table, the version found ("" for none) and whether the table was read from that version.

    `section` is the part of the configuration that this program reads, "" where there is only one.
    """

    table: Table
    version: Version
    section: str = ""

    @property
    def known(self) -> bool:
        return self.table.versions.holds(self.version.text)


def imports_of(program: str) -> frozenset[str]:
    """The packages that the text of a program imports."""
    return frozenset(found["package"] for found in _IMPORT.finditer(program))


def candidates(
    launch: Launch | None, program: str, script: str, tables: Sequence[Table]
) -> tuple[Table, ...]:
    """The tables of the framework that the line runs; `program` is the text of its file, "" for a module.

    Without a line the text of the script is searched for a module that one would run.
    """
    if launch is None:
        modules = [found["module"] for found in _RUN_MODULE.finditer(script)]
        return tuple(t for t in tables if any(_runs(t, module) for module in modules))
    if launch.module:
        return tuple(table for table in tables if _runs(table, launch.target))
    imported = imports_of(program)
    return tuple(table for table in tables if imported & set(table.imports))


def chosen(
    found: Sequence[Table], versions: Mapping[str, Version], program: str
) -> Recognised | None:
    """The table that was read from the version at hand, else the nearest one; None without any.

    `versions` are those found, by the package's name; `program` is the name of what is run.
    """
    fitting = [
        Recognised(table, versions.get(table.package, Version("", "")), section)
        for table in found
        if (section := section_of(table, program)) is not None
    ]
    if not fitting:
        return None
    oldest_first = sorted(fitting, key=lambda one: order_of(one.table.versions.first) or _NONE)
    if known := next((one for one in fitting if one.known), None):
        return known
    version = order_of(oldest_first[-1].version.text)
    older = [
        one
        for one in oldest_first
        if not version or (order_of(one.table.versions.first) or _NONE) <= version
    ]
    return older[-1] if older else oldest_first[0]


def section_of(table: Table, program: str) -> str | None:
    """The part of the configuration that `program` reads; None if the table knows none for it."""
    if not table.sections:
        return ""
    name = program.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return next(
        (section for pattern, section in table.sections if fnmatchcase(name, pattern)), None
    )


def version_in(text: str, pattern: str) -> str:
    """The version that `pattern` finds in the text of a file; its groups are joined by dots."""
    found = re.search(pattern, text, re.MULTILINE)
    return ".".join(found.groups()) if found else ""


def metadata_version(text: str) -> str:
    """The version in the METADATA of an installed package."""
    return version_in(text.split("\n\n", 1)[0], r"^Version:\s*(\S+)")


def _runs(table: Table, module: str) -> bool:
    return any(fnmatchcase(module, pattern) for pattern in table.modules)
