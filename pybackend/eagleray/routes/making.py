"""Which carrier carries a route."""

from __future__ import annotations

from collections.abc import Callable

from eagleray.common.errors import route_not_possible
from eagleray.routes.carried import Carrier
from eagleray.routes.spec import RouteSpec


class Making:
    """Makes the carriers of one process."""

    def __call__(self, spec: RouteSpec, changed: Callable[[], None]) -> Carrier:
        """What carries `spec`; it calls `changed` after every change of its health."""
        raise route_not_possible(spec.kind)
