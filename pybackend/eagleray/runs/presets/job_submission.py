"""`ray job submit` in a training line: the variables of the job's runtime_env, and arguments that reach its program."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from attrs import field, frozen

from eagleray.common.l10n import t
from eagleray.runs.scripts.launch_lines import Launch, LineWord

_OPTION = "--runtime-env-json"
_FILE = "--runtime-env"
_SINGLE_QUOTED = re.compile(r"""(?P<key>[^'"=]+=)'(?P<text>[^'"\\$`]*)'""")
# A program that names one of the variables in its own ray.init would else be refused.
_MERGES = {"RAY_OVERRIDE_JOB_RUNTIME_ENV": "1"}


@frozen
class Edit:
    """A token of the training line and its replacement, "" to remove it."""

    token: LineWord = field(repr=False)
    text: str


def submits(launch: Launch | None) -> bool:
    """Whether the line submits the program to a cluster."""
    return _submit(launch) is not None


def for_submission(overrides: Sequence[str]) -> tuple[str, ...]:
    """Hydra overrides whose quotes survive the shell of the job.

    Before ray-project/ray#63797 `ray job submit` joins its arguments by `list2cmdline`, which protects double quotes
    and no single ones.
    """
    return tuple(_SINGLE_QUOTED.sub(r'\g<key>"\g<text>"', override) for override in overrides)


def returns_at_once(launch: Launch | None) -> bool:
    """Whether the line ends when its job is submitted, before the job does."""
    tokens = launch.tokens[: len(launch.tokens) - len(launch.arguments)] if launch else ()
    return submits(launch) and any(token.text == "--no-wait" for token in tokens)


def with_variables(launch: Launch, env: Mapping[str, str]) -> Edit | str:
    """The edit that adds the variables `env` to the job's runtime_env, or why there is none."""
    tokens = launch.tokens[: len(launch.tokens) - len(launch.arguments)]
    if file := _runtime_env_file(tokens):
        names = ", ".join(sorted(env))
        has_file = t(
            "The job has {option} {file}, and Ray takes no {other} beside it.",
            option=_FILE,
            file=file,
            other=_OPTION,
        )
        return f"{has_file} {t('Add {names} to env_vars there.', names=names)}"
    at = next((i for i, token in enumerate(tokens) if token.text.startswith(_OPTION)), None)
    if at is None:
        submit = _submit(launch)
        if submit is None or submit.span is None:
            return t("`ray job submit` has no {option}.", option=_OPTION)
        return Edit(
            submit, f"submit {_quoted(_OPTION + '=' + json.dumps({'env_vars': dict(env)}))}"
        )
    joined = tokens[at].text.startswith(_OPTION + "=")
    token = tokens[at] if joined or at + 1 == len(tokens) else tokens[at + 1]
    text = token.text.removeprefix(_OPTION + "=")
    merged = _merged(text, env) if token.is_resolved and token.span else ""
    if not merged:
        return t("The {option} of `ray job submit` is not written out.", option=_OPTION)
    return Edit(token, _quoted((_OPTION + "=" if joined else "") + merged))


def _runtime_env_file(tokens: Sequence[LineWord]) -> str:
    """The value of `--runtime-env`, as written if it is not known."""
    for i, token in enumerate(tokens):
        if token.text.startswith(_FILE + "="):
            return token.text.partition("=")[2]
        if token.text == _FILE:
            return tokens[i + 1].text if i + 1 < len(tokens) else "FILE"
    return ""


def _submit(launch: Launch | None) -> LineWord | None:
    tokens = launch.tokens if launch else ()
    for before, token in pairwise(tokens):
        if before.text == "job" and token.text == "submit":
            return token
    return None


def _merged(text: str, env: Mapping[str, str]) -> str:
    """The runtime_env with `env` in it; "" if `text` is none."""
    try:
        runtime_env = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(runtime_env, dict) or not isinstance(runtime_env.get("env_vars", {}), dict):
        return ""
    return json.dumps(
        {**runtime_env, "env_vars": {**runtime_env.get("env_vars", {}), **env, **_MERGES}}
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
