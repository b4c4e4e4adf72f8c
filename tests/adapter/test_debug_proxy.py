"""The debug proxy beside a worker: who gets in, what it withstands, and that it ends with its worker."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import threading
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected.debug_proxy import handle
from eagleray.remote.injected.debug_proxy import listener as proxy_calling
from eagleray.remote.injected.debug_proxy.debugpy_connection import DebugpyConnection
from eagleray.remote.injected.debug_proxy.listener import LONGEST, CallerAuthentication
from eagleray.remote.injected.debug_proxy.loop import Loop, Peer
from eagleray.tools.processes import born

from tests.adapter.harness import PYTHONS, until
from tests.adapter.proxied import PUBLIC, RUN, ProxyCaller, StartProxied, command, owner, proxies_of


@pytest.fixture
def python() -> str:
    return PYTHONS[0]


@pytest.mark.parametrize("python", PYTHONS)
def test_owner_gets_a_description_of_the_worker(proxied: StartProxied) -> None:
    program = proxied()
    caller, hello = owner(program.port)
    with caller:
        assert hello["run"] == RUN and hello["pid"] == program.process.pid
        assert (hello["class"], hello["state"], hello["held"]) == ("Policy", "free", [])
        program.tell("who no")
        assert caller.wait("who")["matches"] is False
    again, hello = owner(program.port)
    with again:
        assert hello["matches"] is False


@pytest.mark.parametrize(
    "said",
    [
        b'{"want": "control"}\n',
        b"[1]\n",
        128 * b"0" + b' {"want": "control"}\n',
        128 * b"x" + b' {"want": "control"}\n',
        128 * b" " + b' {"want": "control"}\n',
        128 * b"f" + b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"[" * 4000 + b"\n",
        b"\xff\xfe\n",
    ],
)
def test_caller_without_a_signature_is_refused(proxied: StartProxied, said: bytes) -> None:
    program = proxied()
    with ProxyCaller(program.port) as caller:
        caller.greeting()
        caller.sock.sendall(said)
        assert caller.hear() == {"error": "refused"}
        assert caller.hear() is None
    caller, _ = owner(program.port)
    caller.close()


def test_caller_that_disconnects_before_the_answer_does_no_harm(proxied: StartProxied) -> None:
    program = proxied()
    for said in (b"", b'{"want": "control"}\n', b"x" * (LONGEST + 1)):
        with ProxyCaller(program.port) as caller:
            caller.greeting()
            caller.sock.sendall(said)
            caller.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    caller, hello = owner(program.port)
    with caller:
        assert hello["run"] == RUN


def test_client_that_is_lost_while_debugpy_is_released_raises_no_error() -> None:
    told: list[str] = []
    pair = socket.socketpair()
    with (
        socket.create_server(("127.0.0.1", 0)) as proxies,
        pair[0] as debugpy,
        pair[1],
        socket.create_connection(proxies.getsockname()) as far,
    ):
        loop = Loop()
        debugging = DebugpyConnection(loop, 60, told.append)
        debugging.join(Peer(loop, proxies.accept()[0]), debugpy, "session", 0)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        far.close()
        debugging.leave()
    assert told == ["debugging", "left"] and not debugging.is_alive


def test_client_is_refused_when_adapter_of_debugpy_has_ended() -> None:
    channel, adapter = socket.socketpair()
    ours, client = socket.socketpair()
    with channel, client, client.makefile("rb") as answers:
        adapter.close()
        loop = Loop()
        DebugpyConnection(loop, 60, lambda _: None).join(Peer(loop, ours), channel, "session", 0)
        assert json.loads(answers.read()) == {"error": "no-debugger"}


def test_huge_line_is_not_read_to_its_end(proxied: StartProxied) -> None:
    program = proxied()
    with ProxyCaller(program.port) as caller:
        caller.greeting()
        caller.sock.sendall(b"x" * (LONGEST + 1))
        assert caller.hear() is None
    caller, _ = owner(program.port)
    # The owner can't fill the memory either.
    with caller, pytest.raises(OSError):
        for _ in range(100):
            caller.sock.sendall(b"x" * 2**20)
    owner(program.port)[0].close()


def test_silent_caller_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_calling, "LIMIT_S", 0.1)
    loop, listener = Loop(), socket.create_server(("127.0.0.1", 0))
    called: list[Peer] = []
    host, port = listener.getsockname()
    CallerAuthentication(
        loop, listener, RUN, PUBLIC, [(host, port)], lambda peer, _: called.append(peer)
    )
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        with ProxyCaller(port) as silent, ProxyCaller(port) as slow:
            assert silent.greeting() != slow.greeting()
            slow.sock.sendall(b'{"want"')
            assert silent.hear() is None and slow.hear() is None
    finally:
        loop.after(0, lambda: setattr(loop, "is_over", True))
        with ProxyCaller(port):
            thread.join(60)
        listener.close()
    assert called == []


def test_newest_owner_replaces_the_old_one_which_is_notified(proxied: StartProxied) -> None:
    program = proxied()
    first, _ = owner(program.port)
    second, _ = owner(program.port)
    with first, second:
        assert first.hear() == {"event": "replaced"} and first.hear() is None
        second.say(op="breakpoints", breakpoints=[])
        program.wait_output('"breakpoints"')


def test_proxy_ends_with_its_worker_though_a_forked_child_lives_on(
    proxied: StartProxied,
) -> None:
    program = proxied()
    caller, _ = owner(program.port)
    pid = program.proxy_pid()
    program.tell("fork")
    program.wait_output("forked")
    program.kill()
    with caller:
        assert caller.wait("ended")
        assert caller.hear() is None
    until(lambda: not born(pid), "the end of the proxy")
    assert not program.is_announced


def test_proxy_outlives_signals_to_all_processes_of_a_job_step(proxied: StartProxied) -> None:
    """As SLURM sends them; the debugger's processes would inherit an ignored signal."""
    program = proxied()
    caller, _ = owner(program.port)
    pid = program.proxy_pid()
    with caller:
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN):
            os.kill(pid, number)
        caller.say(op="breakpoints", breakpoints=[])
        program.wait_output('"breakpoints"')
    ignored = re.search(r"SigIgn:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    assert ignored and not int(ignored[1], 16) >> (signal.SIGUSR1 - 1) & 1


def test_worker_continues_when_its_proxy_dies(proxied: StartProxied) -> None:
    program = proxied()
    caller, _ = owner(program.port)
    os.kill(program.proxy_pid(), signal.SIGKILL)
    assert caller.hear() is None
    caller.close()
    program.wait_output('"gone"')
    program.tell("who yes")
    program.tell("work 1")
    program.wait_output("work 1")
    program.wait_done()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"session": "s", "received": 0}, "not-listening"),
        ({"session": "s", "received": 7}, "gone"),
    ],
)
def test_stream_to_no_debugger_is_refused(
    proxied: StartProxied, said: dict[str, Any], why: str
) -> None:
    with ProxyCaller(proxied().port) as caller:
        caller.request(want="debug", **said)
        assert caller.hear() == {"error": why} and caller.hear() is None


def test_process_of_the_proxy_shows_no_secret(proxied: StartProxied) -> None:
    program = proxied(env={"MY_TOKEN": "hidden"})
    assert program.port
    pid = program.proxy_pid()
    shown = command(pid) + Path(f"/proc/{pid}/environ").read_bytes()
    assert b"hidden" not in shown and PUBLIC.encode() not in shown


def test_proxy_file_is_readable_by_its_owner_only(proxied: StartProxied, tmp_path: Path) -> None:
    assert proxied().port
    assert [path.stat().st_mode & 0o777 for path in tmp_path.glob("proxy-*.json")] == [0o600]


def test_sixty_four_proxies_start_and_end_together() -> None:
    proxies = [
        handle.start_proxy(RUN, PUBLIC, 60, "127.0.0.1", {"rank": str(n)}) for n in range(64)
    ]
    try:
        callers = [owner(one.port) for one in proxies]
        assert [hello["rank"] for _, hello in callers] == [str(n) for n in range(64)]
        for caller, _ in callers:
            caller.close()
    finally:
        for one in proxies:
            one.close()
    until(lambda: not proxies_of(os.getpid()), "the end of the debug proxies")
