"""Routes for tests that must not open connections into clusters."""

from __future__ import annotations

from typing import NoReturn

from eagleray.protocol.route_spec import RouteSpec


def no_routes(spec: RouteSpec, changed: object, base: object) -> NoReturn:
    raise AssertionError(spec)
