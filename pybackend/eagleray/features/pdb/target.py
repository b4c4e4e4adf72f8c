"""Where one waiting pdb is to be connected with, as a value that fits into the arguments of a command."""

from __future__ import annotations

import json

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.features.pdb.errors import unknown_pdb
from eagleray.protocol import route_spec
from eagleray.protocol.route_spec import RouteSpec


@frozen
class Target:
    """`host:port` is tried on `routes` in their order; `is_local`: it is the localhost of the node."""

    id: str
    cluster: str
    name: str
    place: str
    node: str
    routes: tuple[RouteSpec, ...]
    host: str
    port: int
    is_local: bool

    def text(self) -> str:
        said = {name: getattr(self, name) for name in _TEXTS} | {"port": self.port}
        said |= {"routes": [route_spec.to_json(route) for route in self.routes]}
        return json.dumps(said | {"is_local": self.is_local})


_TEXTS = ("id", "cluster", "name", "place", "node", "host")


def read(text: str) -> Target:
    """The target that `Target.text` wrote; raises `unknown-pdb`, or `bad-route`."""
    try:
        said = json.loads(text)
        return Target(
            **{name: str(said[name]) for name in _TEXTS},
            routes=tuple(route_spec.of_json(route) for route in said["routes"]),
            port=int(said["port"]),
            is_local=said["is_local"] is True,
        )
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise unknown_pdb(printable(text)) from error
