"""Checks what a program's driver needs: free ports on its machine, and the versions that the nodes have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.redact import redact_text
from eagleray.doctor.model import Cause, LogEvidence, Severity
from eagleray.doctor.node_rules import Facts, listener_text, name_of
from eagleray.doctor.worker_python import WorkerPython
from eagleray.runs.command_ports import CommandPort

_LOOPBACK = ("", "localhost", "127.0.0.1", "0.0.0.0", "::1", "::")  # noqa: S104 (compared only)
# Checks of ports, and of versions.
DRIVER_CHECKS = 5


@frozen
class _Version:
    """A version that driver and nodes must share; `read` returns "" where it isn't known.

    A driver without it has `missing`; for "" nothing is reported.
    """

    id: str
    severity: Severity
    read: Callable[[Facts], str]
    source: str
    missing: str = ""


_VERSIONS = (
    _Version(
        "driver-ray",
        "error",
        lambda facts: _package(facts, "ray", "Ray"),
        "ray 2.60 _private/utils.py check_version_info",
        missing="no Ray",
    ),
    _Version(
        "driver-python",
        "error",
        lambda facts: f"Python {'.'.join(facts['python'].split('.')[:2])}",
        "ray 2.60 _private/utils.py check_version_info",
    ),
    _Version(
        "driver-debugpy",
        "warning",
        lambda facts: _package(facts, "debugpy", "debugpy"),
        "ray 2.60 util/debugpy.py",
    ),
)


def driver_causes(
    driver: Facts, nodes: Sequence[Facts], ports: Sequence[CommandPort]
) -> list[Cause]:
    """Returns what the driver's facts say of the command's ports and, where its nodes are others, of their versions."""
    name = name_of(driver)
    own = [port for port in ports if _is_own(port, driver)]
    causes = [
        _taken(driver, name, own),
        _ephemeral(driver, name, own),
        *(_difference(version, driver, nodes) for version in _VERSIONS),
    ]
    return [cause for cause in causes if cause is not None]


def worker_causes(driver: Facts, workers: Sequence[WorkerPython]) -> list[Cause]:
    """Versions that workers get by a lock file and that the driver has differently."""
    return [
        cause
        for version in _VERSIONS
        for worker in workers
        if (cause := _locked_difference(version, driver, worker)) is not None
    ]


def _locked_difference(version: _Version, driver: Facts, worker: WorkerPython) -> Cause | None:
    own = _version(version, driver) or version.missing
    package = version.id.partition("-")[2]
    locked = worker.versions.get(package, "")
    if not own or not locked or own.rpartition(" ")[2] == locked:
        return None
    return _cause(
        f"worker-{package}",
        version.severity,
        t(
            "The driver has {own}, workers of {command} get {other}.",
            own=own,
            command=worker.text,
            other=printable(locked),
        ),
        t("Start the driver in the same environment as its workers."),
        [_evidence(worker.lock or worker.place, f"{worker.place}: {worker.text}", name_of(driver))],
        version.source,
    )


def _is_own(port: CommandPort, driver: Facts) -> bool:
    """Whether it is a port of the driver's machine."""
    rows = _rows(driver, "addresses")
    addresses = [row.get("address") for row in rows]
    return port.host in (*_LOOPBACK, driver.get("host"), *addresses)


def _taken(driver: Facts, name: str, ports: Sequence[CommandPort]) -> Cause | None:
    listeners = _rows(driver, "listeners")
    texts = dict.fromkeys(
        f"{port.text}: {listener_text(entry)}"
        for port in ports
        for entry in listeners
        if entry.get("port") == port.port
    )
    return _cause(
        "command-port",
        "warning",
        t("A port of the command is already taken."),
        t("Configure another port, or end the program that listens there."),
        [_evidence("/proc/net/tcp", text, name) for text in texts],
        "OpenRLHF#674; verl#6448",
    )


def _ephemeral(driver: Facts, name: str, ports: Sequence[CommandPort]) -> Cause | None:
    limits = driver.get("ephemeral_ports")
    if not isinstance(limits, list) or len(limits) != 2:
        return None
    first, last = limits
    texts = [f"{port.text}: {first}-{last}" for port in ports if first <= port.port <= last]
    return _cause(
        "command-port-ephemeral",
        "warning",
        t("Outgoing connections may take a port of the command."),
        t("Configure a port outside of this range."),
        [_evidence("ip_local_port_range", text, name) for text in texts],
        "NeMo RL cluster.master_port_range_low",
    )


def _difference(version: _Version, driver: Facts, nodes: Sequence[Facts]) -> Cause | None:
    """Names the nodes that have another version, each with its own."""
    own = _version(version, driver) or version.missing
    versions = [(name_of(facts), read) for facts in nodes if (read := _version(version, facts))]
    differing = [(node, read) for node, read in versions if own and read != own]
    if not differing:
        return None
    node, read = differing[0]
    return _cause(
        version.id,
        version.severity,
        t(
            "The driver has {own}, node {node} has {other}.",
            own=own,
            node=node,
            other=read.rpartition(" ")[2],
        ),
        t("Install the same versions for the driver and all nodes."),
        [_evidence("site-packages", text, each) for each, text in differing],
        version.source,
    )


def _version(version: _Version, facts: Facts) -> str:
    """Reads a value that a node has sent, which may be anything."""
    try:
        return printable(redact_text(version.read(facts)), 100)
    except (LookupError, TypeError, AttributeError):
        return ""


def _package(facts: Facts, package: str, name: str) -> str:
    installed = facts["packages"].get(package)
    return f"{name} {installed}" if installed else ""


def _rows(facts: Facts, name: str) -> list[Mapping[str, Any]]:
    value = facts.get(name)
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _evidence(place: str, text: str, node: str) -> LogEvidence:
    return LogEvidence(place, 0, printable(redact_text(text), 500), node=node)


def _cause(
    id: str,
    severity: Severity,
    sentence: str,
    fix: str,
    evidence: Sequence[LogEvidence],
    source: str,
) -> Cause | None:
    if not evidence:
        return None
    count = len(evidence)
    return Cause(
        id=id,
        sentence=sentence,
        fix=fix,
        evidence=tuple(evidence),
        severity=severity,
        count=count,
        files=count,
        source=source,
    )
