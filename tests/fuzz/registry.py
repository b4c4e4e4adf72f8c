"""All targets by their names."""

from __future__ import annotations

from tests.adapter import dap_fuzz
from tests.fuzz import hostile_expressions
from tests.fuzz.target import Stateful, Target
from tests.fuzz.targets import (
    cluster,
    doctor,
    files,
    hangs,
    login,
    proxies,
    reports,
    rollouts,
    shown,
    wire,
)

TARGETS: tuple[Target, ...] = tuple(
    target
    for module in (wire, proxies, cluster, login, files, shown, reports, hangs, rollouts, doctor)
    for target in module.TARGETS
)
# Fuzzers that keep a session; `npm run fuzz` runs them after the targets.
STATEFUL: tuple[Stateful, ...] = (
    Stateful("dap-requests", dap_fuzz.run),
    Stateful("hostile-expressions", hostile_expressions.fuzz),
)
