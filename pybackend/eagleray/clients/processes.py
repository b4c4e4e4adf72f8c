"""Processes and listening sockets of this machine, and whose they are."""

from __future__ import annotations


def is_own(pid: int) -> bool:
    """Whether a process of this machine exists and belongs to this user."""
    raise NotImplementedError


def local_addresses() -> frozenset[str]:
    """The IP addresses of this machine: a worker with another `node_ip` runs elsewhere."""
    raise NotImplementedError


def listener_uid(host: str, port: int) -> int | None:
    """The user who listens on a TCP port of this machine; None if nobody does or `host` is another machine."""
    raise NotImplementedError
