"""Asking who is there, before a cluster is added or shown."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable

from eagleray.common.errors import EaglerayError
from eagleray.features.clusters.cluster_status import Seen
from eagleray.features.clusters.discovery import Found
from eagleray.ray.dashboard import Dashboard

# Answers that only Ray's dashboard gives, though not the one that was wanted.
RAY_ALL_THE_SAME = frozenset({"token-needed", "token-refused", "token-expired", "dashboard-busy"})
# Answers that Ray's dashboard never gives.
NO_RAY = frozenset({"not-ray", "redirected"})

log = logging.getLogger(__name__)


async def check(dashboard: Dashboard) -> None:
    """Asks who is there, and closes the dashboard; raises unless it is one of Ray."""
    try:
        await dashboard.version()
    except EaglerayError as error:
        if error.code not in RAY_ALL_THE_SAME:
            raise
    finally:
        await dashboard.close()


async def that_are_ray(
    found: Iterable[Found],
    seen_of: Callable[[str], Seen | None],
    is_added: Callable[[str], bool],
    check_address: Callable[[str], Awaitable[None]],
) -> list[Found]:
    """`found` without what listens on the usual port and is no Ray."""
    kept = []
    for one in found:
        seen = seen_of(one.address)
        if seen is not None and (seen.error is None or seen.error.code not in NO_RAY):
            # It was Ray before, and may be slow now: its rows stay.
            kept.append(one)
            continue
        if one.source == "port" and not is_added(one.address):
            try:
                await check_address(one.address)
            except EaglerayError as error:
                log.debug("left alone: %s", error)
                continue
        kept.append(one)
    return kept
