"""The figures of a step that verl's console logger prints, and the sentence about them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from attrs import frozen

from eagleray.common.l10n import t

# verl/utils/logger/aggregate_logger.py, b178a3cd: "step:1 - critic/rewards/mean:0.25 - response_length/mean:512.0".
_STEP = re.compile(r"\bstep:(\d{1,9}) - (?=\S)")
# numpy 2 prints "np.float64(0.25)".
_FIGURE = re.compile(
    r"^([\w/@.-]+):(?:np\.\w+\()?(-?(?:[\d.]+(?:e[+-]?\d+)?|nan|inf))\)?$", re.IGNORECASE
)


@frozen
class VerlStep:
    """A step, and its figures by verl's names."""

    number: int
    figures: Mapping[str, float]


def verl_step_in(line: str) -> VerlStep | None:
    """The step that a line of output is about, None for another line."""
    match = _STEP.search(line)
    if not match:
        return None
    parts = (_FIGURE.match(part.strip()) for part in line[match.end() :].split(" - "))
    return VerlStep(int(match[1]), {part[1]: float(part[2]) for part in parts if part})


def verl_step_text(step: VerlStep) -> str:
    """The step in figures; those that this version doesn't print are left out."""
    figures = {name: value for name, value in step.figures.items() if math.isfinite(value)}
    texts = [text(figures[name]) for name, text in _SHOWN if name in figures]
    title = t("Step {n}", n=step.number)
    return f"{title}: {', '.join(texts)}" if texts else title


_SHOWN: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("critic/rewards/mean", lambda value: t("reward {value}", value=f"{value:.3g}")),
    ("response_length/mean", lambda value: t("{n} tokens per response", n=f"{value:.0f}")),
    ("response_length/clip_ratio", lambda value: t("{share} cut off", share=f"{value:.0%}")),
    ("timing_s/gen", lambda value: t("{seconds} s for rollouts", seconds=f"{value:.3g}")),
    ("timing_s/step", lambda value: t("{seconds} s in all", seconds=f"{value:.3g}")),
)
