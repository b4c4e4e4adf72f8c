"""Reads the prompts of a JSONL file: rows with `prompt` or `messages`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.remote.injected.outside_files import opened_text
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.model import RolloutPrompt


@frozen
class PromptFile:
    """The prompts of a file, and the number of lines that have none."""

    prompts: tuple[RolloutPrompt, ...]
    unreadable: int


def read_prompts(path: Path, limit: int = 0) -> PromptFile:
    """The first `limit` prompts, or all; raises an error of the catalogue if there is none."""
    prompts: list[RolloutPrompt] = []
    unreadable = 0
    try:
        # Editors of other systems begin a file with a byte order mark.
        with opened_text(path, "utf-8-sig") as lines:
            for line in lines:
                if limit and len(prompts) == limit:
                    break
                if not line.strip():
                    continue
                prompt = _prompt(len(prompts), line)
                if prompt is None:
                    unreadable += 1
                else:
                    prompts.append(prompt)
    except OSError as error:
        raise errors.unreadable_prompts(path, error.strerror or str(error)) from error
    if not prompts:
        raise errors.unreadable_prompts(path, t("it has no prompt"))
    return PromptFile(tuple(prompts), unreadable)


def _prompt(index: int, line: str) -> RolloutPrompt | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    messages = row.get("messages")
    # verl and TRL call messages a prompt, too.
    text = row.get("prompt")
    listed = messages if isinstance(messages, list) else text
    if isinstance(listed, list):
        return RolloutPrompt(index, messages=tuple(listed)) if _are_messages(listed) else None
    return RolloutPrompt(index, text) if isinstance(text, str) and text else None


def _are_messages(listed: list[Any]) -> bool:
    return bool(listed) and all(
        isinstance(each, dict) and isinstance(each.get("role"), str) for each in listed
    )
