"""Reads from a project of uv which versions `uv run` gives a program, without running it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from eagleray.common.l10n import t
from eagleray.remote.injected.outside_files import readable_text

_LOCK = "uv.lock"
# Lock files of large projects have 3 MB.
_LARGEST = 32 * 2**20
_PACKAGES = ("ray", "debugpy")
_PACKAGE = re.compile(
    r'^\[\[package\]\]\r?\nname = "(?P<name>ray|debugpy)"\r?\nversion = "(?P<version>[\w.+!-]{1,60})"',
    re.MULTILINE,
)
_PINNED = re.compile(r"(?:cpython-)?(?P<version>3\.\d{1,3})(?:\.\d+)?(?:\b|$)")
_REQUIRES = re.compile(r'^requires-python = "==(?P<version>3\.\d{1,3})\.(?:\*|\d+)"', re.MULTILINE)
_PROJECT = ("--project", "--directory")
_PYTHON = ("--python", "-p")
# With these, the program has more than what the project locks.
_OTHERS = ("--with", "--with-editable", "--with-requirements", "--no-project", "--active")


@frozen
class UvVersions:
    """`versions` of "python" (its minor version), "ray" and "debugpy", as far as they are known; `unknown` says why others
    aren't, "" if all are.
    """

    versions: Mapping[str, str] = field(factory=dict)
    lock: str = ""
    unknown: str = ""


def uv_versions(tokens: Sequence[str], folder: Path) -> UvVersions:
    """Returns the versions of a command that is started in `folder`:

    1. Its Python comes from `--python`, from a `.python-version`, or the only one that the lock file allows.
    2. Its packages come from the project's lock file, unless the command adds others.
    """
    project = _option(tokens, _PROJECT)
    base = (folder / project).absolute()
    lock = next((path / _LOCK for path in (base, *base.parents) if (path / _LOCK).is_file()), None)
    text = readable_text(lock, _LARGEST) if lock else ""
    versions = dict(_packages(text))
    others = [token for token in tokens if token.partition("=")[0] in _OTHERS]
    if others:
        versions = {}
    if python := _python(tokens, base, lock, text):
        versions["python"] = python
    return UvVersions(
        versions, str(lock) if lock and text else "", _unknown(versions, others, text)
    )


def _unknown(versions: Mapping[str, str], others: Sequence[str], text: str) -> str:
    if others:
        return t("{option} gives it other packages", option=others[0].partition("=")[0])
    if not text:
        return t("its project has no uv.lock")
    if "ray" not in versions:
        return t("uv.lock doesn't name one version of Ray")
    return "" if "python" in versions else t("its Python isn't pinned")


def _option(tokens: Sequence[str], names: Sequence[str]) -> str:
    for token, after in zip(tokens, (*tokens, "")[1:], strict=True):
        name, sign, value = token.partition("=")
        if name in names:
            return value if sign else after
    return ""


def _packages(text: str) -> Iterator[tuple[str, str]]:
    """Packages of which there is one version: extras that conflict have several."""
    read = [(match["name"], match["version"]) for match in _PACKAGE.finditer(text)]
    for package in _PACKAGES:
        versions = {version for name, version in read if name == package}
        if len(versions) == 1:
            yield package, versions.pop()


def _python(tokens: Sequence[str], base: Path, lock: Path | None, text: str) -> str:
    if named := _option(tokens, _PYTHON):
        return _minor(named)
    for folder in (base, *base.parents):
        pinned = readable_text(folder / ".python-version", _LARGEST).strip()
        if pinned:
            return _minor(pinned)
        # Pins of folders above the project don't count.
        if lock is None or folder == lock.parent:
            break
    match = _REQUIRES.search(text)
    return match["version"] if match else ""


def _minor(text: str) -> str:
    match = _PINNED.match(text)
    return match["version"] if match else ""
