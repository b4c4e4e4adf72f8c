"""The outcome of a connection by another user of this machine to one of our sockets."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

from tests.adapter.harness import LIMIT

NOBODY = 65534


def as_nobody(address: str) -> str:
    """ "answered", "dropped" or the name of the error; `address` is a path or HOST:PORT."""
    assert os.getuid() == 0, "this test acts as another user, for which it needs root"
    host, colon, port = address.partition(":")
    family, where = ("AF_INET", (host, int(port))) if colon else ("AF_UNIX", address)
    script = textwrap.dedent(f"""
        import os, socket
        os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
        s = socket.socket(socket.{family})
        s.settimeout({LIMIT})
        try:
            s.connect({where!r})
            s.sendall(b'{{"id": 1, "op": "hello"}}\\n')
            print("answered" if s.recv(1) else "dropped")
        except ConnectionError:
            print("dropped")
        except OSError as error:
            print(type(error).__name__)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT
    )
    return (done.stdout + done.stderr).strip()
