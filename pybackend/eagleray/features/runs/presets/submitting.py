"""`ray job submit` in a training line: its --runtime-env-json, which is the only way of a variable to such a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from eagleray.features.runs.presets.launch import Launch, Said

_OPTION = "--runtime-env-json"
# A program that names one of the variables in its own ray.init would else be refused.
_MERGES = {"RAY_OVERRIDE_JOB_RUNTIME_ENV": "1"}


@dataclass(frozen=True)
class Edit:
    """A word of the training line and what is to stand there, "" for nothing."""

    word: Said
    text: str


def submits(launch: Launch | None) -> bool:
    """Whether the line hands the program over to a cluster."""
    return _submit(launch) is not None


def with_variables(launch: Launch, env: Mapping[str, str]) -> Edit | str:
    """The word that carries the variables `env` too, or why there is none."""
    words = launch.all_words
    at = next((i for i, word in enumerate(words) if word.text.startswith(_OPTION)), None)
    if at is None:
        submit = _submit(launch)
        if submit is None or submit.span is None:
            return f"`ray job submit` has no {_OPTION}."
        return Edit(
            submit, f"submit {_quoted(_OPTION + '=' + json.dumps({'env_vars': dict(env)}))}"
        )
    joined = words[at].text.startswith(_OPTION + "=")
    word = words[at] if joined or at + 1 == len(words) else words[at + 1]
    text = word.text.removeprefix(_OPTION + "=")
    merged = _merged(text, env) if word.known and word.span else ""
    if not merged:
        return f"The {_OPTION} of `ray job submit` is not written out."
    return Edit(word, _quoted((_OPTION + "=" if joined else "") + merged))


def _submit(launch: Launch | None) -> Said | None:
    words = launch.all_words if launch else ()
    for before, word in pairwise(words):
        if before.text == "job" and word.text == "submit":
            return word
    return None


def _merged(text: str, env: Mapping[str, str]) -> str:
    """The runtime_env with `env` in it; "" if `text` is none."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(said, dict) or not isinstance(said.get("env_vars", {}), dict):
        return ""
    return json.dumps({**said, "env_vars": {**said.get("env_vars", {}), **env, **_MERGES}})


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
