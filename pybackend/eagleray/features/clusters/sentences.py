"""What we see of a cluster, in one sentence."""

from __future__ import annotations

from eagleray.clients.cluster_watch import Seen


def sentence(seen: Seen) -> str:
    """ "Connected, Ray 2.60.0, 6 workers, none paused", or what is wrong."""
    if seen.error is not None:
        return seen.error.message
    if seen.state != "connected":
        return "Connecting…"
    parts = ["Connected", f"Ray {seen.ray_version}"]
    if seen.live_workers >= 0:
        parts.append(_counted(seen.live_workers, "worker"))
    paused = len(seen.paused)
    parts.append(f"{paused} paused" if paused else "none paused")
    return ", ".join(parts)


def _counted(number: int, thing: str) -> str:
    if number == 0:
        return f"no {thing}s"
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
