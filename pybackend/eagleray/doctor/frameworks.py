"""Recognises the framework of a program by its command and by its logs, so that only its settings are shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from attrs import evolve

from eagleray.doctor.logs.files import ScannedFile
from eagleray.doctor.model import Cause
from eagleray.remote.injected.outside_files import opened
from eagleray.runs.model import RunPlan

# The modules of the frameworks, as rules name these in their settings.
_MODULES = {
    "verl": "verl",
    "areal": "AReaL",
    "nemo_rl": "NeMo RL",
    "openrlhf": "OpenRLHF",
    "rlinf": "RLinf",
}
# "python -m verl.trainer.main_ppo", "/site-packages/verl/workers/fsdp_workers.py", "nemo_rl.algorithms.grpo".
_SIGN = re.compile(
    rb"(?<![\w-])(?P<module>" + "|".join(_MODULES).encode() + rb")"
    rb"(?:\.[a-z_]+\.[a-z_]|/(?:[\w-]{1,60}/){0,10}[\w-]{1,60}\.py\b)"
)
_BEFORE = 65_536
_AFTER = 16_384
_HEAD = 65_536
_MOST_FILES = 200


def frameworks_in(text: bytes) -> set[str]:
    """The frameworks whose modules are in the text."""
    return {_MODULES[match["module"].decode()] for match in _SIGN.finditer(text)}


def frameworks_of_run(plan: RunPlan) -> set[str]:
    """1. The framework of its preset; a preset of the user's own has another name.

    2. Frameworks whose modules are in its command.
    """
    preset = _MODULES.get(plan.preset)
    return {preset} if preset else frameworks_in(" ".join(plan.command).encode())


def frameworks_of_logs(
    files: Sequence[ScannedFile], places: Iterable[tuple[Path, int]]
) -> set[str]:
    """1. By the lines around causes, which are at `places`.

    2. By the beginnings of the logs.
    """
    around = ((path, max(0, at - _BEFORE), _BEFORE + _AFTER) for path, at in places)
    heads = ((file.path, 0, _HEAD) for file in files[:_MOST_FILES])
    return _first(around) or _first(heads)


def with_settings_of(causes: Sequence[Cause], frameworks: Collection[str]) -> list[Cause]:
    """The causes with the settings of these frameworks alone, and the causes of a framework without a name here."""
    others = set(_MODULES.values()) - set(frameworks) if frameworks else set()
    return [
        evolve(
            cause,
            settings={name: text for name, text in cause.settings.items() if name not in others},
        )
        for cause in causes
    ]


def _first(parts: Iterable[tuple[Path, int, int]]) -> set[str]:
    return next((names for text in _texts(parts) if (names := frameworks_in(text))), set())


def _texts(parts: Iterable[tuple[Path, int, int]]) -> Iterator[bytes]:
    for path, start, size in parts:
        try:
            with opened(path) as file:
                file.seek(start)
                yield file.read(size)
        except OSError:
            # Removed since it was read.
            continue
