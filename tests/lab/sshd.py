"""Changes that sites make to sshd and users to their keys, on a running site; each `with` takes it back at its end."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.lab.files import SSHD
from tests.lab.hosts import ALICE
from tests.lab.site import Site
from tests.ray_cluster import wait_for

CODE = "492716"


@contextlib.contextmanager
def sshd(site: Site, host: str, **options: str) -> Iterator[None]:
    """The sshd of `host` with these options first, which wins over the same ones later."""
    text = "".join(f"{name} {value}\n" for name, value in options.items()) + SSHD
    file = site.path(host, "/etc/ssh/lab_config")
    before = file.read_text()
    file.write_text(text)
    restart(site, host)
    try:
        yield
    finally:
        file.write_text(before)
        restart(site, host)


@contextlib.contextmanager
def no_sshd(site: Site, *hosts: str) -> Iterator[None]:
    """Sites that forbid ssh to their compute nodes: nothing listens there."""
    for host in hosts:
        _stop(site, host)
    try:
        yield
    finally:
        for host in hosts:
            restart(site, host)


@contextlib.contextmanager
def other_host_key(site: Site, host: str) -> Iterator[None]:
    """`host` was installed anew: its key is not the one that everybody knows."""
    file = site.path(host, "/etc/ssh/lab_host_key")
    before = file.read_bytes()
    file.unlink()
    site.run_as(
        host, "root", ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/etc/ssh/lab_host_key"]
    )
    restart(site, host)
    try:
        yield
    finally:
        file.write_bytes(before)
        restart(site, host)


@contextlib.contextmanager
def one_time_code(site: Site, host: str, *, key_too: bool = True) -> Iterator[None]:
    """Beside the key, `host` asks for `CODE`.

    The question is a real keyboard-interactive one of PAM; only what compares the code is a script of ours.
    """
    check = f'#!/bin/sh\n[ "$(tr -d "\\0")" = {CODE} ]\n'
    script = site.path(host, "/etc/lab_code")
    script.write_text(check)
    script.chmod(0o755)
    methods = "publickey,keyboard-interactive" if key_too else "keyboard-interactive"
    options = {"KbdInteractiveAuthentication": "yes", "AuthenticationMethods": methods}
    with sshd(site, host, **options):
        yield


@contextlib.contextmanager
def passphrase(site: Site, words: str) -> Iterator[None]:
    """The key on the laptop is protected by a passphrase."""
    file = "/home/alice/.ssh/id_ed25519"
    before = site.path("laptop", file).read_bytes()
    site.run_as("laptop", "alice", ["ssh-keygen", "-q", "-p", "-P", "", "-N", words, "-f", file])
    try:
        yield
    finally:
        site.path("laptop", file).write_bytes(before)


@contextlib.contextmanager
def refused_key(site: Site) -> Iterator[None]:
    """The cluster no longer takes the key."""
    with _without(site, "login", ".ssh/authorized_keys"):
        yield


@contextlib.contextmanager
def unknown_hosts(site: Site) -> Iterator[None]:
    """The laptop has never met any host, so ssh asks whether the key is right."""
    with _without(site, "laptop", ".ssh/known_hosts"):
        yield


@contextlib.contextmanager
def ssh_config(site: Site, text: str) -> Iterator[None]:
    """`text` stands first in the ssh config of the laptop."""
    file = site.path("laptop", "/home/alice/.ssh/config")
    before = file.read_text()
    file.write_text(text + before)
    try:
        yield
    finally:
        file.write_text(before)


def delayed(name: str, host: str, round_trip_ms: int) -> str:
    """Lines of an ssh config: `name` is `host` as seen from far away."""
    proxy = f"python {Path(__file__).with_name('delay.py')} {host} 22 {round_trip_ms}"
    return f"Host {name}\n  HostKeyAlias {host}\n  ProxyCommand {proxy}\n"


def restart(site: Site, host: str) -> None:
    """The listener is ended and started anew; connections that are there stay."""
    _stop(site, host)
    site.run_as(
        host, "root", ["/usr/sbin/sshd", "-f", "/etc/ssh/lab_config", "-E", "/var/log/sshd.log"]
    )
    wait_for(f"sshd on {host}", lambda: _listens(site, host))


def _stop(site: Site, host: str) -> None:
    pid_file = site.path(host, "/run/sshd.pid")
    if pid_file.exists():
        pid = pid_file.read_text().strip()
        site.run_as(
            host, "root", ["sh", "-c", f"kill {pid}; while [ -d /proc/{pid} ]; do sleep 0.02; done"]
        )
        pid_file.unlink(missing_ok=True)


def _listens(site: Site, host: str) -> bool:
    with contextlib.suppress(OSError), site.connect(host, "127.0.0.1", 22):
        return True
    return False


@contextlib.contextmanager
def _without(site: Site, host: str, name: str) -> Iterator[None]:
    file = site.path(host, f"/home/alice/{name}")
    kept = file.with_name(file.name + ".kept")
    file.rename(kept)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        kept.rename(file)
        shutil.chown(file, ALICE, ALICE)
