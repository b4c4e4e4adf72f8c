"""Sentences for the rules of the contract that the runner has checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, later, t, translated
from eagleray.rollouts.agents.model import ContractRule

_GUARD = '`if __name__ == "__main__":`'
_MOST_LINES = 5
_HOLDS = {
    "run": later("The agent has a method `run`."),
    "async": later("`run` is an async function."),
    "arguments": later("`run` takes the arguments that the framework passes."),
    "pickle": later("The agent can be pickled."),
    "result": later("`run` returns a valid reward."),
    "finite": later("Rewards are finite numbers."),
    "ids": later("The dictionary names completions of this run."),
    "areal": later("AReaL can be imported."),
    "workflow": later("The class is a `RolloutWorkflow`."),
    "episode": later("`arun_episode` is an async function."),
    "mode": later("A workflow runs inline."),
    "trajectory": later("The trajectory has the format that AReaL takes."),
}
_BROKEN = {
    "run": later("The agent has no method `run`."),
    "async": later("`run` is not an async function. Write `async def run`."),
    "arguments": later("`run` doesn't take its arguments. Add `**extra_kwargs`."),
    "pickle": later("The agent can't be pickled. Mode `subproc` needs that."),
    "ids": later("The dictionary names an unknown completion."),
    "areal": later("`arun_episode` needs AReaL, which this Python can't import."),
    "workflow": later("The class isn't derived from AReaL's `RolloutWorkflow`."),
    "episode": later("`arun_episode` is not an async function. Write `async def arun_episode`."),
    "mode": later("AReaL runs a workflow inline only."),
    "trajectory": later("AReaL can't train with this trajectory."),
    "client": later("The agent closes `http_client`, which all runs share."),
}
_LOADS = {
    "import": later("The module can't be imported."),
    "class": later("The module has no such class."),
    "construct": later("The class can't be constructed."),
}


def contract_rule(checked: Mapping[str, Any]) -> ContractRule:
    """The rule with its sentence, and what the framework would raise."""
    rule, ok = str(checked["rule"]), bool(checked["ok"])
    text = _text(rule, ok, checked.get("values") or {})
    quoted = printable(str(checked.get("quoted") or ""), 500)
    return ContractRule(rule, ok, f"{text} {quoted}".strip())


def _text(rule: str, ok: bool, values: Mapping[str, Any]) -> str:
    if rule == "import":
        return _skipped([int(line) for line in values["lines"]])
    if rule == "loads" and values.get("reason") == "start":
        return t(
            "Line {line} failed at import. Put it under {guard}.", line=values["line"], guard=_GUARD
        )
    if rule == "loads":
        return translated(_LOADS.get(str(values.get("reason")), _LOADS["import"]))
    if rule == "trajectory":
        return _trajectory(ok, values)
    if rule == "logprobs":
        return t("The server gave no logprob to {n} tokens; they are NaN.", n=values["missing"])
    if rule == "result" and not ok:
        return _wrong_result(values)
    if rule == "finite" and not ok:
        return t("A reward is {value}, which ruins the next update.", value=values.get("value"))
    if rule == "ids" and ok and not values.get("is_checked"):
        return t("No response was observed, so its IDs weren't checked.")
    return translated((_HOLDS if ok else _BROKEN).get(rule, rule))


def _skipped(lines: list[int]) -> str:
    """The lines that AReaL would run in each process that imports the module."""
    return counted(
        len(lines),
        "Line {lines} starts a loop at import, and was skipped. Put it under {guard}.",
        "Lines {lines} start a loop at import, and were skipped. Put them under {guard}.",
        lines=", ".join(map(str, lines[:_MOST_LINES])),
        guard=_GUARD,
    )


def _trajectory(ok: bool, values: Mapping[str, Any]) -> str:
    if ok and not values.get("is_checked"):
        return t("AReaL's check of trajectories can't be imported, so it was left out.")
    if values.get("type") == "None":
        return t("`arun_episode` returned None: AReaL drops the trajectory.")
    if "type" in values:
        return t(
            "`arun_episode` returned {type}. Return a dictionary of tensors, or None.",
            type=printable(str(values["type"]), 40),
        )
    return translated((_HOLDS if ok else _BROKEN)["trajectory"])


def _wrong_result(values: Mapping[str, Any]) -> str:
    if values.get("type") == "dict":
        return t(
            "The dictionary has a value of type {type}. Rewards are numbers.",
            type=printable(str(values.get("value_type")), 40),
        )
    return t(
        "`run` returned {type}. Return a float, or a float by completion ID.",
        type=printable(str(values.get("type")), 40),
    )
