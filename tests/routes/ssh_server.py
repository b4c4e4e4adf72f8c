"""A real sshd of the test's own on 127.0.0.1, what a person has to get into it, and a wire that can be cut."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

SSHD = "/usr/sbin/sshd"
HOST = "there"
PATIENCE_S = 60.0

_SERVER = """
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
_PERSON = """
Host there
{more}
  HostName 127.0.0.1
  HostKeyAlias there
  Port {port}
  IdentityFile {folder}/key
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile none
  StrictHostKeyChecking {checking}
"""


class SshServer:
    """An sshd and the files of a person who may use it; `options` of sshd, `more` of the person's config."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._options: tuple[str, ...] = ()
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("key", "host_key"):
            self.new_key(name)
        (folder / "authorized_keys").write_text((folder / "key.pub").read_text())
        self.know_host_key()
        self.program = folder / "ssh"

    def new_key(self, name: str, passphrase: str = "") -> None:
        path = self.folder / name
        path.unlink(missing_ok=True)
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)

    def know_host_key(self) -> None:
        kind, key, *_ = (self.folder / "host_key.pub").read_text().split()
        (self.folder / "known_hosts").write_text(f"{HOST} {kind} {key}\n")

    def start(self, *options: str) -> None:
        """Starts sshd, `options` before ours; again on the same port if it ran before."""
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self._options = options
        self.port = self.port or _free_port()
        text = "\n".join(options) + _SERVER.format(folder=self.folder)
        (self.folder / "sshd_config").write_text(text)
        log = (self.folder / "sshd.log").open("ab")
        command = [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config"), "-p", str(self.port)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
        log.close()

    async def listens(self) -> None:
        """Until sshd greets who connects."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                # Another program had the port for a moment.
                self.start(*self._options)
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                greeting = await reader.readline()
                writer.close()
                if greeting.startswith(b"SSH-"):
                    return
            await asyncio.sleep(0.02)
        raise AssertionError(self.log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def configure(self, *more: str, port: int = 0, checking: str = "yes", script: str = "") -> Path:
        """The person's ssh: the real one with a config of its own, after the lines of `script`."""
        text = _PERSON.format(
            port=port or self.port,
            folder=self.folder,
            checking=checking,
            more="\n".join(f"  {line}" for line in more),
        )
        config = self.folder / "config"
        config.write_text(text)
        self.program.write_text(f'#!/bin/sh\n{script}\nexec ssh -F {config} "$@"\n')
        self.program.chmod(0o755)
        return self.program

    @property
    def log(self) -> str:
        return (self.folder / "sshd.log").read_text()


class Wire:
    """A way to a port that can go silent, as a dead switch does: nothing is refused and nothing arrives.

    What was connected before or while it was cut stays silent for ever, as TCP does for long.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._server: asyncio.Server | None = None
        self._is_cut = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._lines: set[_Line] = set()
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        self._is_cut = True
        for line in self._lines:
            line.flows.clear()

    def mend(self, revive: bool = False) -> None:
        """New connections get through again, and with `revive` the old ones too."""
        self._is_cut = False
        if revive:
            for line in self._lines:
                line.flows.set()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = _Line(not self._is_cut)
        self._lines.add(line)
        task = asyncio.ensure_future(line.carry(reader, writer, self._port))
        self._tasks.add(task)
        await task


class _Line:
    """One connection through the wire."""

    def __init__(self, flows: bool) -> None:
        self.flows = asyncio.Event()
        if flows:
            self.flows.set()

    async def carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int
    ) -> None:
        await self.flows.wait()
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(2**16):
                await self.flows.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
