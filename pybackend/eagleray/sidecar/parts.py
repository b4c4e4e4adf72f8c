"""The parts that the panel's handlers and the command line share, built once per process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import frozen

if TYPE_CHECKING:
    from eagleray.clients.adapter import Adapters


@frozen
class Settings:
    """What the editor (initializationOptions) or the environment says; `from_environment` in the CLI.

    `discovery` "off": only clusters that were added or named (EAGLERAY_DISCOVERY wins over the editor).
    """

    discovery: Literal["own", "off"] = "own"


@frozen
class Parts:
    """Every core object.  A feature's `register(server, parts)` takes from here what it needs.

    `clusters`, `workers`, `debugging`, `source_mapping` are the core objects of the features of these
    names.  What one feature needs of another is given to its constructor as a plain callable by
    `build`, so that features do not import one another.
    """

    adapters: Adapters
