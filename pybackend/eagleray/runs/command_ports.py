"""Finds the ports that a command names for its own programs, before it is started."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import frozen

# "--port 8000", "--dashboard-port=8265", "server.http_port=8000", "MASTER_PORT=29500".
_PORT_NAME = re.compile(r"(?:.*_)?port")
# Where rank 0 listens: SGLang's --dist-init-addr, torchrun's --rdzv-endpoint.
_ADDRESS_NAMES = ("dist_init_addr", "nccl_init_addr", "rdzv_endpoint")
_PORT = re.compile(r"\d{1,5}")
_ADDRESS = re.compile(r"(?:\w{1,10}://)?\[?(?P<host>[\w.:-]{0,253}?)\]?:(?P<port>\d{1,5})")
_LAST_PORT = 65_535


@frozen
class CommandPort:
    """A port as the command names it, such as "--port 8000"; `host` is "" where the command names none."""

    text: str
    port: int
    host: str = ""


def ports_of(command: Sequence[str]) -> tuple[CommandPort, ...]:
    """The ports of options, overrides and variables of a command, each once; 0 is any free one."""
    ports: dict[tuple[int, str], CommandPort] = {}
    for name, value, text in _settings(command):
        port = _port(name, value, text)
        if port is not None and 0 < port.port <= _LAST_PORT:
            ports.setdefault((port.port, port.host), port)
    return tuple(ports.values())


def port_arguments(command: Sequence[str]) -> list[str]:
    """The arguments of a command that name its ports, in which no secret is."""
    return [argument for port in ports_of(command) for argument in port.text.split(" ")]


def _settings(command: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Name, value and text of each `name=value` and `--name value`."""
    for word, after in zip(command, (*command, "")[1:], strict=True):
        name, sign, value = word.partition("=")
        if sign:
            yield name, value, word
        elif word.startswith("--"):
            yield word, after, f"{word} {after}"


def _port(name: str, value: str, text: str) -> CommandPort | None:
    key = name.lstrip("-+").lower().replace("-", "_").rpartition(".")[2]
    if _PORT_NAME.fullmatch(key) and _PORT.fullmatch(value):
        return CommandPort(text, int(value))
    address = _ADDRESS.fullmatch(value) if key in _ADDRESS_NAMES else None
    return CommandPort(text, int(address["port"]), address["host"]) if address else None
