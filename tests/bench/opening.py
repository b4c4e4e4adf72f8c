"""How long our routes take to open streams, measured where they run: `opening.py DESTINATION HOST PORT SAMPLES MANY`.

`HOST:PORT` says back what it hears.  Says one line of JSON: milliseconds of each stream that was opened
alone, and the seconds until all of MANY that were opened at once have said their byte.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from eagleray.common.paths import run_folder
from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes.routes import Routes, TransportFactory
from eagleray.routes.ssh.askpass import AskUser, QuestionKind

LIMIT_S = 60.0


def nobody(_destination: str) -> AskUser:
    async def ask(_prompt: str, _kind: QuestionKind) -> str | None:
        return None

    return ask


async def main(destination: str, host: str, port: int, samples: int, many: int) -> None:
    routes = Routes(TransportFactory(run_folder(), nobody))
    spec = RouteSpec(ssh=destination)

    async def heard(confirmed: bool) -> None:
        reader, writer = await routes.open_stream(spec, host, port, LIMIT_S, confirmed)
        writer.write(b"?")
        assert await reader.readexactly(1) == b"?"
        writer.close()

    await heard(confirmed=True)
    alone = []
    for _ in range(samples):
        begun = time.perf_counter()
        reader, writer = await routes.open_stream(spec, host, port, LIMIT_S, confirmed=False)
        writer.write(b"?")
        alone.append((time.perf_counter() - begun) * 1000)
        assert await reader.readexactly(1) == b"?"
        writer.close()
    begun = time.perf_counter()
    await asyncio.gather(*(heard(confirmed=False) for _ in range(many)))
    print(json.dumps({"alone": alone, "many": time.perf_counter() - begun}), flush=True)
    await routes.close()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])))
