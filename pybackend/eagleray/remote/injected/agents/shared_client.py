"""The one HTTP client that all runs share, as the framework passes it."""

from __future__ import annotations

import importlib
from urllib.parse import urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# As AReaL's: a rollout may take long.
_TIMEOUT_S = 3600.0


def make_client(base_url: str) -> Any:
    """An `httpx.AsyncClient` without a limit of connections; None where neither httpx nor httpx2 is installed."""
    for name in ("httpx", "httpx2"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module.AsyncClient(
            limits=module.Limits(max_connections=None, max_keepalive_connections=None),
            timeout=module.Timeout(_TIMEOUT_S),
            # A proxy can't reach a server of this machine.
            trust_env=urlsplit(base_url).hostname not in _LOOPBACK,
        )
    return None
