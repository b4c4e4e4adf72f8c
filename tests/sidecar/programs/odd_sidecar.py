"""A sidecar whose methods go wrong in every way that a method can."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from attrs import frozen
from eagleray.ray.errors import cluster_unreachable
from eagleray.sidecar import main
from eagleray.wire.requests import Requests, TellProgress


@frozen
class Inner:
    number: int


@frozen
class Said:
    text: str
    inner: Inner | None = None


class Loud:
    """Tells the editor what happened to the handlers."""

    def __init__(self, requests: Requests) -> None:
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
        self.requests.notify("eagleray/test/waiting", said)
        try:
            await asyncio.Event().wait()
        finally:
            self.requests.notify("eagleray/test/ended", said)

    async def reports(self, said: Said, report: TellProgress) -> None:
        report("half", 50)
        report("nearly")

    async def background(self) -> None:
        self.requests.notify("eagleray/test/background", Said("started"))
        raise RuntimeError("the background fails")

    async def close(self) -> None:
        sys.stderr.write("closed\n")


def build(options: dict[str, Any]) -> Requests:
    requests = Requests()
    loud = Loud(requests)
    requests.answer("eagleray/test/echo", Said, loud.echo)
    requests.answer_plain("eagleray/test/nothing", loud.nothing)
    requests.answer("eagleray/test/catalogue", Said, loud.catalogue)
    requests.answer("eagleray/test/fails", Said, loud.fails)
    requests.answer_plain("eagleray/test/prints", loud.prints)
    requests.answer("eagleray/test/waits", Said, loud.waits)
    requests.answer_reporting("eagleray/test/reports", Said, loud.reports)
    requests.in_background("background", loud.background)
    requests.at_end(loud.close)
    return requests


if __name__ == "__main__":
    main._build = build
    sys.exit(main.main(sys.argv[1:]))
