"""Addresses of clusters as users write them, and their normal form: the cluster's id."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from attrs import frozen

from eagleray.common.route_errors import bad_route
from eagleray.protocol.route_spec import HOST_NAME, RouteSpec, checked
from eagleray.ray.errors import bad_address

LOCAL_HOSTS = frozenset({"localhost", "0.0.0.0", "::", "*"})  # noqa: S104 (names that users write)
PREFIX = re.compile(r"(/[A-Za-z0-9_~%+@:,=-][A-Za-z0-9._~%+@:,=-]*)+")
USUAL_PORT = "8265"


@frozen
class ClusterAddress:
    """The parts of a cluster's address.

    `url` is the address of its dashboard as the end of the route knows it, "" for a SLURM job, in which
    it is searched for.  `ssh` is the destination behind which the cluster is, "" for this machine.
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
        """Whether it is a dashboard that this machine reaches directly."""
        return not self.ssh and not self.job


def parse_address(written: str) -> ClusterAddress:
    """Parses an address that the user wrote, or an id; raises `bad-address` or `bad-route`.

    1. `ssh://HOST/…`: what follows, behind that host; without a rest, the usual port of HOST.
    2. `slurm://JOB`: a job of the user.
    3. A port alone is a port of this machine (or of HOST).
    4. `host:port` is taken for http.
    5. An http(s) address may lack its port, may have a path of a proxy, and may end with what a browser
       shows behind the `#`.
    """
    text = written.strip()
    if not text.lower().startswith("ssh://"):
        return _inner(written, text, "")
    host, _, rest = text[6:].partition("/")
    # As it is written after `ssh`, which accepts no port in the destination.
    if not host or re.fullmatch(r"[^:]*:[0-9]+", host):
        raise bad_route(host)
    return _inner(written, rest or USUAL_PORT, checked(RouteSpec(ssh=host)).ssh)


def normalised(written: str) -> str:
    """The id of the cluster whose address the user wrote."""
    return parse_address(written).id


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


def _inner(written: str, text: str, ssh: str) -> ClusterAddress:
    if text.lower().startswith("slurm://"):
        job = text[8:].rstrip("/")
        if not job:
            raise bad_address(written)
        return ClusterAddress(ssh=ssh, job=checked(RouteSpec(job=job, node="n")).job)
    return ClusterAddress(ssh=ssh, url=_url(written, text))


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
        if host not in LOCAL_HOSTS and not HOST_NAME.fullmatch(host):
            raise bad_address(written) from None
    else:
        # `::ffff:127.0.0.1` is the IPv4 address at its end, so it is the same cluster.
        host = str(getattr(ip, "ipv4_mapped", None) or ip)
    host = "127.0.0.1" if host in LOCAL_HOSTS else host
    if not 0 < port < 2**16 or (prefix and not PREFIX.fullmatch(prefix)):
        raise bad_address(written)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{prefix}"
