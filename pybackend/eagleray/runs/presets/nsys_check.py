"""Finds the nsys of this machine that records the workers of a run, before the run starts."""

from __future__ import annotations

from urllib.parse import urlsplit

from eagleray.common.errors import EaglerayError
from eagleray.remote.injected.nsys.installations import find_nsys
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.errors import no_configured_nsys, no_nsys_here
from eagleray.runs.program_python import environment_of
from eagleray.tools.nsys import configured

_LOCAL_ADDRESSES = ("", "local", "auto")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def nsys_here(plan: RunPlan) -> str | None:
    """The nsys that records workers on this machine, "" if there is none; None if workers run elsewhere.

    1. The one that the profile names; 2. the one that the user has configured for this machine; 3. one that is found.
    """
    if plan.profile is None or plan.cluster or plan.kind in ("sbatch", "job"):
        return None
    environ = environment_of(plan)
    if not _is_local(environ.get("RAY_ADDRESS", "")):
        return None
    return find_nsys(plan.profile.nsys or configured(), environ)


def nsys_problems(plan: RunPlan) -> list[EaglerayError]:
    """The start may go ahead all the same: workers can also run on other nodes of a cluster that the program joins."""
    if plan.profile is None or nsys_here(plan) != "":
        return []
    if plan.profile.nsys or not configured():
        return [no_nsys_here(plan.profile.nsys)]
    return [no_configured_nsys(configured())]


def _is_local(address: str) -> bool:
    if address in _LOCAL_ADDRESSES:
        return True
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname in _LOCAL_HOSTS
    except ValueError:
        return False
