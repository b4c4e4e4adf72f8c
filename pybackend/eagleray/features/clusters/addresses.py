"""Addresses of dashboards as people write them, and the one form in which we keep them."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from eagleray.common.errors import bad_address

HERE = frozenset({"localhost", "0.0.0.0", "::", "*"})  # noqa: S104 (names that people write)
HOST_NAME = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_-]+)*\.?"
)


def normalised(written: str) -> str:
    """`http://host:port` of what a person wrote; raises `bad-address`.

    1. A port alone is one of this machine.
    2. `host:port` is taken for http.
    3. An http(s) address may lack its port, and may end with what a browser shows behind the `#`.
    """
    text = written.strip()
    if re.fullmatch(r"[0-9]+", text):
        return _address(written, "http", "127.0.0.1", _port(written, text))
    if "://" not in text:
        text = f"http://{text}"
    parts = _split(written, text)
    if parts.scheme == "http" and parts.port is None and "://" not in written:
        raise bad_address(written)
    port = parts.port if parts.port is not None else {"http": 80, "https": 443}[parts.scheme]
    return _address(written, parts.scheme, parts.hostname or "", port)


def host_and_port(address: str) -> tuple[str, int]:
    """Host and port of a normalised address."""
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or 0


def _split(written: str, text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # Reading it checks it.
    except ValueError as error:
        raise bad_address(written) from error
    fits = parts.scheme in ("http", "https") and not parts.query and parts.path in ("", "/")
    # A password in an address would end up in lists and logs.
    if not fits or "@" in parts.netloc or any(not c.isprintable() or c == " " for c in text):
        raise bad_address(written)
    return parts


def _port(written: str, text: str) -> int:
    port = int(text) if len(text) <= 5 else 0
    if not 0 < port < 2**16:
        raise bad_address(written)
    return port


def _address(written: str, scheme: str, host: str, port: int) -> str:
    host = host.lower()
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        if host not in HERE and not HOST_NAME.fullmatch(host):
            raise bad_address(written) from None
    else:
        # `::ffff:127.0.0.1` is the address of IPv4 that it ends with, so it is the same cluster.
        host = str(getattr(ip, "ipv4_mapped", None) or ip)
    host = "127.0.0.1" if host in HERE else host
    if not 0 < port < 2**16:
        raise bad_address(written)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
