"""A reverse proxy as sites put one before a dashboard: TLS of an own authority, a path prefix, a header that it wants.

`python -m tests.fakes.proxy PORT FOLDER` is one before that port, with its files in FOLDER; it says as JSON what a
person has to know, and ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

PREFIX = "/a site/ray"
IN_URL = "/a%20site/ray"
NAME, VALUE = "X-Site-Key", "secret-of-the-site"


class Authority:
    """A certificate authority in a folder, made by openssl."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = str(folder / "ca.pem")
        self._openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=Site"
            " -addext keyUsage=critical,keyCertSign -keyout ca.key -out ca.pem"
        )

    def server(self, name: str) -> ssl.SSLContext:
        """A server that proves to be `name` (`DNS:host` or `IP:address`)."""
        (self._folder / "ext").write_text(f"subjectAltName={name}\n")
        self._openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=proxy"
            " -keyout key.pem -out proxy.csr"
        )
        self._openssl(
            "x509 -req -in proxy.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2"
            " -extfile ext -out proxy.pem"
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / "proxy.pem", self._folder / "key.pem")
        return context

    def _openssl(self, arguments: str) -> None:
        subprocess.run(
            ["openssl", *arguments.split()], cwd=self._folder, check=True, capture_output=True
        )


class Proxy:
    """Carries what it likes to a port of this machine; `heads` keeps the head of every request that came."""

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.port = 0
        self.heads: list[str] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            first, _, rest = head.partition("\r\n")
            method, target, version = first.split(" ", 2)
            if f"{NAME}: {VALUE}\r\n" not in rest:
                writer.write(
                    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\nConnection: close\r\n\r\nno key."
                )
            elif not target.startswith(IN_URL + "/"):
                writer.write(
                    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
            else:
                lines = [line for line in rest.split("\r\n") if line and not line.startswith(NAME)]
                asked = f"{method} {target.removeprefix(IN_URL)} {version}"
                await self._ask([asked, *lines, "Connection: close"], writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _ask(self, lines: list[str], writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        up_writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        while data := await up_reader.read(65536):
            writer.write(data)
            await writer.drain()
        up_writer.close()


@asynccontextmanager
async def proxy_before(upstream: int, context: ssl.SSLContext | None) -> AsyncIterator[Proxy]:
    """A proxy on a free port of 127.0.0.1, with TLS if there is a context."""
    proxy = Proxy(upstream)
    server = await asyncio.start_server(proxy.answer, "127.0.0.1", 0, ssl=context)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()


async def _main(upstream: int, folder: Path) -> None:
    folder.mkdir()
    authority = Authority(folder)
    async with proxy_before(upstream, authority.server("IP:127.0.0.1")) as proxy:
        address = f"https://127.0.0.1:{proxy.port}{IN_URL}"
        said = {"address": address, "ca_file": authority.file, "header": f"{NAME}: {VALUE}"}
        print(json.dumps(said), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), Path(sys.argv[2])))
