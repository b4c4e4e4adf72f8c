"""Composes the configuration of a training line as its framework does, without importing the framework or torch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.runs.presets_trial import hydra_configs, parsers, structured
from tests.runs.presets_trial.sandbox import Call

# Modules that this process needs for itself.
_OWN = ("PATH", "HOME", "PYTHONPATH")
OK, FAILED, BROKEN_BEFORE, NOT_TRIED = "ok", "failed", "fails without the preset too", "not tried"


@dataclass(frozen=True)
class Composed:
    verdict: str
    reason: str = ""


class NotComposable(Exception):
    """The configuration of this call can't be found without running it."""


def compose_call(framework: str, call: Call, words: Sequence[str], checkout: Path) -> Composed:
    """Composes what `call` says; if that fails, the same without `words`, to tell whose fault it is."""
    arguments = list(call.arguments)
    with _as_in(call):
        try:
            problem = _problem(framework, arguments, call.cwd, words, checkout)
        except NotComposable:
            return Composed(NOT_TRIED, "")
        if not problem:
            return Composed(OK)
        without = _without(arguments, words)
        if _problem(framework, without, call.cwd, (), checkout):
            return Composed(BROKEN_BEFORE)
        return Composed(FAILED, problem)


def _problem(
    framework: str, arguments: list[str], cwd: str, words: Sequence[str], checkout: Path
) -> str:
    """Returns the problem of the arguments; "" for nothing."""
    try:
        if framework == "openrlhf":
            return parsers.problem(arguments, checkout)
        if framework == "nemo_rl":
            return hydra_configs.yaml_problem(arguments, Path(cwd), checkout)
        if framework == "skyrl":
            return structured.problem(arguments, words, Path(cwd), checkout)
        if framework in ("slime", "miles"):
            # Most options belong to Megatron and SGLang, which are not in the checkout.
            raise NotComposable
        if framework == "areal":
            return hydra_configs.yaml_problem(arguments, Path(cwd), checkout) or structured.problem(
                arguments, words, Path(cwd), checkout
            )
        return hydra_configs.problem(arguments, Path(cwd), checkout)
    except LookupError as error:
        raise NotComposable(str(error)) from error


def _without(arguments: Sequence[str], words: Sequence[str]) -> list[str]:
    if words and tuple(arguments[-len(words) :]) == tuple(words):
        return list(arguments[: -len(words)])
    return [word for word in arguments if word not in words]


@contextlib.contextmanager
def _as_in(call: Call) -> Iterator[None]:
    """Configurations read the environment by `${oc.env:…}`, and search paths may be relative."""
    kept = {name: value for name, value in call.env.items() if name not in _OWN}
    before = Path.cwd()
    with mock.patch.dict(os.environ, kept):
        try:
            if Path(call.cwd).is_dir():
                os.chdir(call.cwd)
            yield
        finally:
            os.chdir(before)
