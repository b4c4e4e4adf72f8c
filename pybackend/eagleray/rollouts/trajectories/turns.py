"""Splits the text of a trajectory into turns, by the headers that chat templates write before each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eagleray.rollouts.trajectories.model import Trajectory, Turn

# Each header has its role as a group; the first pattern that matches a text splits it.
TEMPLATES = (
    ("ChatML", re.compile(r"<\|im_start\|>([^\n<|]{0,40})\n")),
    ("Llama 3", re.compile(r"<\|start_header_id\|>([^<|]{0,40})<\|end_header_id\|>\n{0,2}")),
    ("Harmony", re.compile(r"<\|start\|>([^<|]{0,80})(?:<\|channel\|>[^<|]{0,40})?<\|message\|>")),
    ("Gemma", re.compile(r"<start_of_turn>([^\n<]{0,40})\n")),
    ("DeepSeek", re.compile(r"<｜(User|Assistant|System|Tool)｜>")),
    ("GLM", re.compile(r"<\|(system|user|assistant|observation|tool)\|>\n?")),
)
# The remains of ChatML without its special tokens, as verl decodes it; only at the beginning of a text that begins so.
PLAIN = re.compile(r"^(system|user|assistant|tool)\n", re.MULTILINE)
_PLAIN_START = re.compile(r"\s*(?:system|user|assistant|tool)\n")


def turns_of(trajectory: Trajectory) -> list[Turn]:
    """The turns of messages, of a text with headers, or prompt and completion."""
    if trajectory.messages:
        return _with_mask(trajectory)
    prompt, completion = trajectory.prompt, trajectory.completion
    return [
        Turn(role or ("completion" if trained else "prompt"), text, trained)
        for role, text, trained in split_text(prompt + completion, len(prompt))
        if text.strip()
    ]


def split_text(text: str, trained_from: int) -> list[tuple[str, str, bool]]:
    """The roles and texts between headers, and whether they are after `trained_from`; a turn across it is cut there."""
    parts: list[tuple[str, str, bool]] = []
    for role, start, end in _between_headers(text):
        middle = min(max(trained_from, start), end)
        for first, last in ((start, middle), (middle, end)):
            if first < last:
                parts.append((role, text[first:last], first >= trained_from))
    return parts


def _between_headers(text: str) -> Iterator[tuple[str, int, int]]:
    role, start = "", 0
    for header in _headers(text):
        yield role, start, header.start()
        role, start = header[1].strip().lower(), header.end()
    yield role, start, len(text)


def _headers(text: str) -> Iterator[re.Match[str]]:
    for _, pattern in TEMPLATES:
        if pattern.search(text):
            return pattern.finditer(text)
    if _PLAIN_START.match(text):
        return PLAIN.finditer(text)
    return iter(())


def _with_mask(trajectory: Trajectory) -> list[Turn]:
    """Messages, each with whether it is trained where the mask has as many runs as there are messages."""
    runs = mask_runs(trajectory.columns.mask)
    if len(runs) == len(trajectory.messages):
        pairs = zip(trajectory.messages, runs, strict=True)
        return [Turn(_role(turn, trained), turn.text, trained) for turn, trained in pairs]
    return [
        Turn(_role(turn, turn.trained), turn.text, turn.trained) for turn in trajectory.messages
    ]


def _role(turn: Turn, trained: bool | None) -> str:
    if turn.role or trained is None:
        return turn.role
    return "completion" if trained else "prompt"


def mask_runs(mask: tuple[int, ...]) -> list[bool]:
    """Whether each run of equal values is trained."""
    runs: list[bool] = []
    for value in mask:
        if not runs or runs[-1] != (value != 0):
            runs.append(value != 0)
    return runs
