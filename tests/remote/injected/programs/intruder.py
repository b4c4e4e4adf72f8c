"""Another user of the machine, who connects to the sockets of a run as a debugger and as a debugged process.

`intruder.py UID ADDRESSES FILE PID` prints as JSON what each address answered to each of the two.  FILE is what the
debugged program would make if it did as it is told.
"""

import contextlib
import json
import os
import socket
import sys
import time

LIMIT_S = 5.0
READ = 2**16

uid, file, pid = int(sys.argv[1]), sys.argv[3], int(sys.argv[4])
MAKE_FILE = f"open({file!r}, 'w').close()"


def request(seq, command, **arguments):
    return {"seq": seq, "type": "request", "command": command, "arguments": arguments}


DEBUGGER = [
    request(1, "initialize", adapterID="debugpy"),
    request(2, "attach", justMyCode=False),
    request(3, "configurationDone"),
    request(4, "evaluate", expression=MAKE_FILE, context="repl"),
    request(5, "attach", processId=pid, debugpyArgs=["-c", MAKE_FILE]),
]
DEBUGGED = [
    {"seq": 1, "type": "response", "request_seq": 1, "success": True, "command": "pydevdAuthorize",
     "body": {"clientAccessToken": None}},
    {"seq": 2, "type": "response", "request_seq": 2, "success": True, "command": "pydevdSystemInfo",
     "body": {"process": {"pid": os.getpid(), "ppid": pid}}},
]  # fmt: skip


def connected(address):
    if isinstance(address, str):
        family, address = socket.AF_UNIX, "\0" + address[1:] if address[0] == "@" else address
    else:
        family, address = socket.AF_INET6 if ":" in address[0] else socket.AF_INET, tuple(address)
    sock = socket.socket(family)
    sock.settimeout(LIMIT_S)
    sock.connect(address)
    return sock


def answer(address, messages):
    """Returns what came until the other end closed; "…" stands for a connection that stayed open."""
    heard = b""
    end = time.monotonic() + LIMIT_S
    try:
        with connected(address) as sock:
            for message in messages:
                body = json.dumps(message).encode()
                with contextlib.suppress(OSError):
                    sock.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            while data := sock.recv(READ):
                heard += data
                if time.monotonic() > end:
                    raise TimeoutError
    except TimeoutError:
        return heard.decode(errors="replace") + "…"
    except OSError:
        pass
    return heard.decode(errors="replace")


# This user may not read the folder of this Python, which would import the codec later.
"".encode("idna")
if uid:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
print(json.dumps([answer(a, m) for a in json.loads(sys.argv[2]) for m in (DEBUGGER, DEBUGGED)]))
