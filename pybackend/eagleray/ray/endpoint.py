"""The endpoint of a dashboard: its URL, the socket that leads there, trusted authorities and headers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from attrs import field, frozen

# Returns the token, or None.  True: a connection is about to be made, so the listener is checked again.  It reads files,
# so it is called off the event loop.
TokenSource = Callable[[bool], str | None]
# The same for headers that a proxy in front of the dashboard needs, which are secrets like a token.
HeaderSource = Callable[[bool], Mapping[str, str]]


# Raises an error of the catalogue if the listener must not get secrets.
CheckListener = Callable[[], Awaitable[None]]


def no_headers(check: bool) -> Mapping[str, str]:
    return {}


async def no_check() -> None:
    """Checks nothing: the listener is unknown, or the sources check it."""


@frozen
class Endpoint:
    """The endpoint of one dashboard.

    `url` is `http(s)://host:port[/prefix]` as it is where the connection comes out.  `socket` is the path of
    a Unix socket each connection to which leads to that host and port; "" means TCP from this machine.
    `ca_file` holds certificates of authorities that are trusted besides the system's.
    `check` is asked before a connection is made for a request that carries secrets.
    """

    url: str
    socket: str = ""
    ca_file: str = ""
    headers: HeaderSource = field(default=no_headers, repr=False, eq=False)
    check: CheckListener = field(default=no_check, repr=False, eq=False)


# Finds the endpoint, which may take as long as a user needs to type a code.  It is called before the first
# request and again after a connection failed; an error of the catalogue that it raises reaches the user.
FindEndpoint = Callable[[], Awaitable[Endpoint]]


def direct_endpoint(url: str) -> FindEndpoint:
    """Returns the endpoint of a dashboard that this machine reaches directly."""

    async def find() -> Endpoint:
        return Endpoint(url)

    return find
