"""Where the workers of a planned run stop, for `eagleray run --dry-run`."""

from __future__ import annotations

from eagleray.common.errors import printable
from eagleray.features.runs.plan import RunPlan


def stop_lines(plan: RunPlan) -> list[str]:
    """One line for each thing that was asked for; none for a plan whose workers stop nowhere."""
    lines = []
    for breakpoint_ in plan.breakpoints:
        for line in breakpoint_.lines:
            condition = f" if {line.condition}" if line.condition else ""
            lines.append(f"breakpoint {breakpoint_.path}:{line.line}{condition}")
    if plan.workers:
        lines.append(f"workers {', '.join(plan.workers)}")
    if plan.ranks is not None:
        lines.append(f"ranks {', '.join(map(str, plan.ranks))}")
    if plan.post_mortem:
        lines.append("failures stop (--post-mortem)")
    if plan.children:
        lines.append("child processes stop too (--children)")
    return [printable(text, 400) for text in lines]
