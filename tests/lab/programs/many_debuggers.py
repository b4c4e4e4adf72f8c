"""One node's share of very many paused workers: `many_debuggers.py ADDRESS COUNT` listens on COUNT ports.

Each speaks as debugpy does to a client that attaches, and stops at train.py:10; the ports are said as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from eagleray.protocol import dap


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    def say(message: dict[str, Any]) -> None:
        writer.write(dap.encode(message))

    say(dap.event("output", {"category": "telemetry", "output": "ptvsd"}))
    attach: dict[str, Any] = {}
    while (request := await dap.read(reader)) is not None:
        command = request["command"]
        if command == "attach":
            attach = request
            say(dap.event("initialized"))
            continue
        say(dap.success(request, body(command)))
        if command == "configurationDone":
            say(dap.success(attach))
            say(dap.event("stopped", {"reason": "breakpoint", "threadId": 1}))
        if command == "disconnect":
            break
    writer.close()


def body(command: str) -> dict[str, Any]:
    frame = {"id": 1, "name": "train", "line": 10, "source": {"path": "/x/train.py"}}
    return {"stackFrames": [frame]} if command == "stackTrace" else {}


async def main(address: str, count: int) -> None:
    servers = [await asyncio.start_server(serve, address, 0, backlog=512) for _ in range(count)]
    print(json.dumps([server.sockets[0].getsockname()[1] for server in servers]), flush=True)
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
