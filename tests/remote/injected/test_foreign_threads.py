"""Threads that Python did not start stop, too, unless the filter excludes them."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from eagleray.remote.injected.debugpy.channel import connected, received

from tests.adapter.harness import PYTHONS, ROOT
from tests.dap_client import DapClient
from tests.remote.injected.runs import line_of

PROGRAM = Path(__file__).parent / "programs" / "foreign_threads.py"


@pytest.mark.parametrize("python", PYTHONS)
def test_threads_that_c_started_stop(python: str) -> None:
    ours, theirs = socket.socketpair()
    with (
        ours,
        subprocess.Popen(
            [python, str(PROGRAM), str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": str(ROOT / "pybackend")},
            pass_fds=[theirs.fileno()],
            stdout=subprocess.PIPE,
            text=True,
        ) as program,
    ):
        theirs.close()
        assert program.stdout is not None
        try:
            with received(socket.recv_fds(ours, 1, 1)[1]) as channel:
                client = DapClient(connected(channel))
            client.attach(breakpoints={str(PROGRAM): [line_of(PROGRAM, "work")]}, justMyCode=False)
            for number in ("1", "3"):
                stopped = client.wait_for("stopped")["body"]["threadId"]
                frame = client.stack(stopped)[0]
                assert (frame["name"], client.evaluate("number", frame["id"])) == ("work", number)
                client.request("continue", threadId=stopped)
            assert program.stdout.read() == "worked 1\nworked 2\nworked 3\n"
            client.close()
        finally:
            program.kill()
