"""The host names of the user's ssh config, for pickers; only ssh itself resolves them."""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import EaglerayError, printable
from eagleray.protocol.route_spec import RouteSpec, checked

MOST = 500
LONGEST = 2**20

_LINE = re.compile(r"\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*)")

log = logging.getLogger(__name__)


@frozen
class ConfiguredHost:
    """A host of the config; `detail` is "alice@10.0.0.1", as far as its own section has the values."""

    name: str
    detail: str


def configured_hosts(config: Path | None = None) -> list[ConfiguredHost]:
    """Returns the hosts of `~/.ssh/config` and the files that it includes, without patterns, in their order."""
    file = config or Path.home() / ".ssh" / "config"
    hosts: dict[str, dict[str, str]] = {}
    names: list[str] = []
    for keyword, arguments in _lines(file, file.parent, frozenset()):
        if keyword in ("host", "match"):
            names = [name for name in arguments if keyword == "host" and _is_name(name)]
            for name in names[: MOST - len(hosts)]:
                hosts.setdefault(name, {})
        elif keyword in ("hostname", "user") and arguments:
            for name in names:
                hosts.get(name, {}).setdefault(keyword, arguments[0])
    return [ConfiguredHost(name, _detail(name, options)) for name, options in hosts.items()]


def _lines(file: Path, folder: Path, reading: frozenset[Path]) -> Iterator[tuple[str, list[str]]]:
    """Yields keyword and arguments of each line, with the lines of included files in place.

    A file that includes itself, through others perhaps, is read once.
    """
    if file in reading:
        return
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(LONGEST)
    except OSError as error:
        log.debug("%s cannot be read: %s", file, error)
        return
    for line in text.splitlines():
        keyword, arguments = _parse_line(line)
        if keyword == "include":
            for pattern in arguments:
                for included in _included(folder, pattern):
                    yield from _lines(included, folder, reading | {file})
        elif keyword:
            yield keyword, arguments


def _included(folder: Path, pattern: str) -> list[Path]:
    try:
        path = folder / Path(pattern).expanduser()
        return sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    except (OSError, RuntimeError, ValueError, IndexError) as error:
        # The home of a user who does not exist, or a folder in place of a file.
        log.debug("%s includes what cannot be read: %r", folder, error)
        return []


def _parse_line(line: str) -> tuple[str, list[str]]:
    """Parses `Keyword arguments` or `Keyword=arguments`."""
    match = _LINE.match(line)
    if not match:
        return "", []
    try:
        return match[1].lower(), shlex.split(match[2], comments=True)
    except ValueError:
        return match[1].lower(), []


def _is_name(written: str) -> bool:
    if any(char in written for char in "*?!"):
        return False
    try:
        checked(RouteSpec(ssh=written))
    except EaglerayError:
        return False
    return True


def _detail(name: str, options: dict[str, str]) -> str:
    host, user = options.get("hostname", ""), options.get("user", "")
    if not user and host in ("", name):
        return ""
    return printable(f"{user}@{host or name}" if user else host, 120)
