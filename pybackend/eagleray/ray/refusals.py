"""What 401 and 403 mean: no token, a wrong one, one whose time is up, a proxy in front, or a switch of Ray."""

from __future__ import annotations

import time

from yarl import URL

from eagleray.common.errors import EaglerayError
from eagleray.ray import errors
from eagleray.ray.endpoint import Way
from eagleray.ray.tokens import is_over

# Ray's own words, since it says 403 for both.
PROFILING_OFF = "rofiling is disabled"
ABOUT_A_TOKEN = "authentication token"  # noqa: S105 (no token, but what Ray calls one)


def meaning(
    address: str, way: Way, status: int, said: str, token: str | None, accepted: str | None
) -> EaglerayError | None:
    """The error for an answer `status` to a request with `token`, None when it is not about credentials.

    1. Ray has switched profiling off.
    2. A proxy that is known to stand there says so in other words than Ray's.
    3. The token's own date is over, or the cluster took it before.
    4. The token is a wrong one.
    5. Something that no token was sent to forbids what was asked.
    """
    if status == 403 and PROFILING_OFF in said:
        return None
    if ABOUT_A_TOKEN not in said and is_behind_proxy(way):
        return errors.proxy_refused(address, status)
    if token is not None:
        expired = token == accepted or is_over(token, time.time())
        return errors.token_expired(address) if expired else errors.token_refused(address)
    return errors.token_refused(address) if status == 401 else None


def not_of_ray(address: str, way: Way, status: int) -> EaglerayError:
    """The error for a server that wants credentials and does not know Ray's question about them."""
    if status in (401, 403) and is_behind_proxy(way):
        return errors.proxy_refused(address, status)
    return errors.not_ray(address, "it asks for credentials but not as Ray does")


def is_behind_proxy(way: Way) -> bool:
    """Whether the person said so: Ray's dashboard has no prefix, no TLS and wants no other headers."""
    url = URL(way.url)
    return url.scheme == "https" or url.path not in ("", "/") or bool(way.headers(False))
