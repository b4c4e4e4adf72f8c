"""What the tests of known clusters are made of."""

from __future__ import annotations

from tests.clusters.known import fake, here, make

__all__ = ["fake", "here", "make"]
