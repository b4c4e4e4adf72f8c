"""Addresses of clusters as people write them, and the one form in which we keep them: the cluster's id."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from attrs import frozen

from eagleray.common.route_errors import bad_route
from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.ray.errors import bad_address
from eagleray.tools.host_names import HOST_NAME

HERE = frozenset({"localhost", "0.0.0.0", "::", "*"})  # noqa: S104 (names that people write)
PREFIX = re.compile(r"(/[A-Za-z0-9_~%+@:,=-][A-Za-z0-9._~%+@:,=-]*)+")
USUAL_PORT = "8265"


@frozen
class Place:
    """Where a cluster is.

    `url` is the address of its dashboard as it is known where the route ends, "" for a SLURM job, in which
    it is to be found.  `ssh` is the destination beyond which all that is true, "" for this machine.
    """

    url: str = ""
    ssh: str = ""
    job: str = ""

    @property
    def id(self) -> str:
        """The cluster's id: `http://host:port`, `slurm://JOB`, each perhaps after `ssh://HOST/`."""
        inner = f"slurm://{self.job}" if self.job else self.url
        return f"ssh://{self.ssh}/{inner}" if self.ssh else inner

    @property
    def is_direct(self) -> bool:
        """Whether it is a dashboard that this machine reaches by itself."""
        return not self.ssh and not self.job


def place(written: str) -> Place:
    """What a person wrote, or an id; raises `bad-address` or `bad-route`.

    1. `ssh://HOST/…`: what follows, beyond that host; nothing is the usual port there.
    2. `slurm://JOB`: a job of this person's own.
    3. A port alone is one of this machine (or of HOST).
    4. `host:port` is taken for http.
    5. An http(s) address may lack its port, may have a path of a proxy, and may end with what a browser
       shows behind the `#`.
    """
    text = written.strip()
    if not text.lower().startswith("ssh://"):
        return _inner(written, text, "")
    host, _, rest = text[6:].partition("/")
    # As it is written after `ssh`, which takes no port there.
    if not host or re.fullmatch(r"[^:]*:[0-9]+", host):
        raise bad_route(host)
    return _inner(written, rest or USUAL_PORT, checked(RouteSpec(ssh=host)).ssh)


def normalised(written: str) -> str:
    """The id of the cluster that a person wrote."""
    return place(written).id


def host_and_port(address: str) -> tuple[str, int]:
    """Host and port of an http(s) address; ("", 0) of another id."""
    try:
        parts = urlsplit(address)
    except ValueError:
        # An ssh destination may have brackets.
        return "", 0
    if parts.scheme not in ("http", "https"):
        return "", 0
    return parts.hostname or "", parts.port or 0


def _inner(written: str, text: str, ssh: str) -> Place:
    if text.lower().startswith("slurm://"):
        job = text[8:].rstrip("/")
        if not job:
            raise bad_address(written)
        return Place(ssh=ssh, job=checked(RouteSpec(job=job, node="n")).job)
    return Place(ssh=ssh, url=_url(written, text))


def _url(written: str, text: str) -> str:
    if re.fullmatch(r"[0-9]+", text):
        return _address(written, "http", "127.0.0.1", _port(written, text), "")
    named = "://" in text
    parts = _split(written, text if named else f"http://{text}")
    if not named and parts.port is None:
        raise bad_address(written)
    port = parts.port if parts.port is not None else {"http": 80, "https": 443}[parts.scheme]
    return _address(written, parts.scheme, parts.hostname or "", port, parts.path.rstrip("/"))


def _split(written: str, text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # Reading it checks it.
    except ValueError as error:
        raise bad_address(written) from error
    fits = parts.scheme in ("http", "https") and not parts.query
    # A password in an address would end up in lists and logs.
    if not fits or "@" in parts.netloc or any(not c.isprintable() or c == " " for c in text):
        raise bad_address(written)
    return parts


def _port(written: str, text: str) -> int:
    port = int(text) if len(text) <= 5 else 0
    if not 0 < port < 2**16:
        raise bad_address(written)
    return port


def _address(written: str, scheme: str, host: str, port: int, prefix: str) -> str:
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
    if not 0 < port < 2**16 or (prefix and not PREFIX.fullmatch(prefix)):
        raise bad_address(written)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{prefix}"
