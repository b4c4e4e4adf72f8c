"""Errors of users whom ssh does not let through; these tests need no Ray. A stream to the sshd of a node represents any
other: it says its name first.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.adapter import LabAdapter, adapter_on, greeting, ssh
from tests.lab.site import Site
from tests.lab.sshd import other_host_key, refused_key, ssh_config, sshd
from tests.ray_cluster import wait_for

LOGIN = ssh("login")


def reaches_a_node(adapter: LabAdapter, *routes: dict[str, str]) -> bool:
    with adapter.open(adapter.control.open("node-1", 22, *(routes or (LOGIN,)))) as sock:
        return greeting(sock) == b"SSH-2.0-"


def said(adapter: LabAdapter, *routes: dict[str, str], host: str = "node-1", port: int = 22) -> str:
    """The sentence, the next step and ssh's own words."""
    error = adapter.control.refused(host, port, *(routes or (LOGIN,)))
    return "\n".join(
        str(error[key]) for key in ("message", "next_step", "output") if error.get(key)
    )


def test_node_is_reached_through_the_login_node(adapter: LabAdapter) -> None:
    assert reaches_a_node(adapter)


def test_node_is_reached_through_a_jump_host(adapter: LabAdapter) -> None:
    """From the login node on to a compute node, as the person's own config says."""
    with adapter.open(adapter.control.open("127.0.0.1", 22, ssh("node-2"))) as sock:
        assert greeting(sock) == b"SSH-2.0-"


def test_first_route_that_reaches_is_used(adapter: LabAdapter) -> None:
    direct = ssh("")
    opened = adapter.control.call("open_socket", routes=[direct, LOGIN], host="node-1", port=22)
    assert opened["route"] == LOGIN


def test_wrong_host_is_in_the_error(adapter: LabAdapter) -> None:
    assert "nowhere" in said(adapter, ssh("nowhere"))


def test_closed_port_is_in_the_error(adapter: LabAdapter) -> None:
    assert "can't connect to node-1:1: nothing listens" in said(adapter, port=1)


def test_missing_node_is_in_the_error(adapter: LabAdapter) -> None:
    assert "node-77" in said(adapter, host="node-77")


def test_refused_key_is_not_retried_until_the_user_reconnects(
    site: Site, adapter: LabAdapter
) -> None:
    with refused_key(site):
        assert "Permission denied" in said(adapter)
        # It is not tried again and again, which a site may take for an attack.
        assert "Permission denied" in said(adapter)
    adapter.control.call("reconnect", route=LOGIN)
    assert reaches_a_node(adapter)


def test_changed_host_key_is_reported_and_not_offered(site: Site, adapter: LabAdapter) -> None:
    """The change is reported, and no user is asked to accept it."""
    known = site.path("laptop", "/home/alice/.ssh/known_hosts").read_text()
    asked = adapter.connect()
    asked.call("asks")
    with other_host_key(site, "login"):
        assert "key" in said(adapter)
        assert not [event for event in asked.events if event["event"] == "question"]
    assert site.path("laptop", "/home/alice/.ssh/known_hosts").read_text() == known


@pytest.mark.parametrize("option", ["AllowTcpForwarding", "DisableForwarding"])
def test_forbidden_forwarding_names_the_option(
    site: Site, adapter: LabAdapter, option: str
) -> None:
    value = "no" if option == "AllowTcpForwarding" else "yes"
    with sshd(site, "login", **{option: value}):
        assert "AllowTcpForwarding" in said(adapter)


def test_forbidden_port_names_the_option(site: Site, adapter: LabAdapter) -> None:
    with sshd(site, "login", PermitOpen="node-2:22"):
        assert "PermitOpen" in said(adapter)


def test_streams_need_no_session_of_the_connection(site: Site, adapter: LabAdapter) -> None:
    """Streams aren't sessions: any number of them fits into one connection."""
    with sshd(site, "login", MaxSessions="1"):
        assert all(reaches_a_node(adapter) for _ in range(20))


def test_too_many_starts_name_the_option(site: Site, adapter: LabAdapter) -> None:
    """Others hold the places of those who have not proved yet who they are."""
    with sshd(site, "login", MaxStartups="1:100:1", LoginGraceTime="120"):
        with _place(site):
            assert "MaxStartups" in said(adapter)
        wait_for("a place", lambda: _placed(adapter))


def _place(site: Site) -> socket.socket:
    """The one place; whoever had it before may take a moment to leave it."""

    def taken() -> socket.socket | None:
        sock = site.connect("login2", "10.77.0.1", 22)
        if greeting(sock) == b"SSH-2.0-":
            return sock
        sock.close()
        return None

    sock = wait_for("the place", taken)
    assert sock is not None
    return sock


def _placed(adapter: LabAdapter) -> bool:
    with contextlib.suppress(AssertionError):
        return reaches_a_node(adapter)
    return False


def test_control_master_of_the_user_does_not_take_the_route_over(
    site: Site, adapter: LabAdapter
) -> None:
    """Their `ControlMaster auto` with a finite ControlPersist neither takes our route over nor ends it."""
    theirs = "Host *\n  ControlMaster auto\n  ControlPath ~/.ssh/cm-%C\n  ControlPersist 1\n"
    with ssh_config(site, theirs):
        path = adapter.control.open("node-1", 22, LOGIN)
    with adapter.open(path) as sock:
        assert greeting(sock) == b"SSH-2.0-"
        assert not list(site.path("laptop", "/home/alice/.ssh").glob("cm-*"))


def test_live_control_master_of_the_user_is_used_and_not_ended(site: Site) -> None:
    theirs = "Host *\n  ControlMaster auto\n  ControlPath ~/.ssh/cm-%C\n  ControlPersist 120\n"
    with ssh_config(site, theirs):
        site.run_as("laptop", "alice", ["ssh", "login", "true"])
        try:
            # No user can log in again: only an open connection leads there.
            with refused_key(site), adapter_on(site, "laptop") as adapter:
                assert reaches_a_node(adapter)
            assert site.run_as("laptop", "alice", ["ssh", "login", "hostname"]).stdout == "login\n"
        finally:
            site.run_as("laptop", "alice", ["ssh", "-O", "exit", "login"], check=False)


def test_folder_with_a_long_name_is_reported_with_the_variable(site: Site) -> None:
    """Sockets have short paths only; it is said, and which variable to set."""
    home = "/tmp/" + "long-" * 25
    done = site.run_as(
        "laptop",
        "alice",
        ["python", "-c", "from eagleray.adapter.main import main; main()"],
        {"EAGLERAY_HOME": home},
        check=False,
    )
    assert done.returncode != 0
    assert "EAGLERAY_HOME" in done.stdout + done.stderr


def test_missing_ssh_is_in_the_error(site: Site) -> None:
    with adapter_on(site, "laptop", EAGLERAY_SSH="/nowhere/ssh") as adapter:
        assert "/nowhere/ssh" in said(adapter)


@pytest.fixture(autouse=True)
def no_masters_of_others(site: Site) -> Iterator[None]:
    """Every test ends with the ssh processes that it has started."""
    yield
    left = [folder for folder in site.processes("laptop") if b"ssh" in _words(folder)[:1]]
    assert left == []


def _words(folder: Path) -> list[bytes]:
    with contextlib.suppress(OSError):
        return (folder / "cmdline").read_bytes().split(b"\0")
    return []
