"""Parts for the tests of known clusters."""

from __future__ import annotations

from tests.clusters.known import fake, here, make

__all__ = ["fake", "here", "make"]
