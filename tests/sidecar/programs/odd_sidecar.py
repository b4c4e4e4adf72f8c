"""A sidecar whose methods go wrong in every way that a method can."""

from __future__ import annotations

import asyncio
import sys
from types import NoneType
from typing import Any

from attrs import frozen
from eagleray.ray.errors import cluster_unreachable
from eagleray.sidecar import main
from eagleray.wire.requests import LongRequest, Notification, ReportProgress, Request, RequestServer


@frozen
class Inner:
    number: int


@frozen
class Said:
    text: str
    inner: Inner | None = None


WAITING = Notification("eagleray/test/waiting", Said)
ENDED = Notification("eagleray/test/ended", Said)
BACKGROUND = Notification("eagleray/test/background", Said)


class Loud:
    """Tells the editor what happened to the handlers."""

    def __init__(self, requests: RequestServer) -> None:
        self.requests = requests

    async def echo(self, said: Said) -> Said:
        return said

    async def nothing(self) -> None:
        return None

    async def catalogue(self, said: Said) -> None:
        raise cluster_unreachable(said.text, detail="secret detail")

    async def fails(self, said: Said) -> None:
        raise ZeroDivisionError(said.text)

    async def prints(self) -> None:
        print("this is not JSON-RPC", flush=True)

    async def waits(self, said: Said) -> None:
        self.requests.notify(WAITING, said)
        try:
            await asyncio.Event().wait()
        finally:
            self.requests.notify(ENDED, said)

    async def reports(self, said: Said, report: ReportProgress) -> None:
        report("half", 50)
        report("nearly")

    async def background(self) -> None:
        self.requests.notify(BACKGROUND, Said("started"))
        raise RuntimeError("the background fails")

    async def close(self) -> None:
        sys.stderr.write("closed\n")


def build(options: dict[str, Any]) -> RequestServer:
    requests = RequestServer()
    loud = Loud(requests)
    requests.on_request(Request("eagleray/test/echo", Said, Said), loud.echo)
    requests.on_request(Request("eagleray/test/nothing", NoneType, NoneType), loud.nothing)
    requests.on_request(Request("eagleray/test/catalogue", Said, NoneType), loud.catalogue)
    requests.on_request(Request("eagleray/test/fails", Said, NoneType), loud.fails)
    requests.on_request(Request("eagleray/test/prints", NoneType, NoneType), loud.prints)
    requests.on_request(Request("eagleray/test/waits", Said, NoneType), loud.waits)
    requests.on_request(LongRequest("eagleray/test/reports", Said, NoneType), loud.reports)
    requests.in_background("background", loud.background)
    requests.on_stop(loud.close)
    return requests


if __name__ == "__main__":
    main._build = build
    sys.exit(main.main(sys.argv[1:]))
