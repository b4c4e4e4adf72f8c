"""Checks of rule files: a comparison of one fact of a node with a fixed value; nothing of a file is executed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from attrs import frozen

from eagleray.remote.scripts.node_facts import PACKAGES

Facts = Mapping[str, Any]
Fact = float | str
Operator = Literal["below", "above", "is", "is_not"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)

_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,5}")
_PACKAGE = "package."
# A larger number comes from no node, and isn't exact.
_LARGEST = 2.0**63


def _limit(value: Any) -> Any:
    """None for an unlimited one, which Python writes as -1 (`resource.RLIM_INFINITY`)."""
    return None if value == -1 else value


def _in(section: str, name: str) -> Callable[[Facts], Any]:
    return lambda facts: (facts.get(section) or {}).get(name)


# Bytes, seconds and counts, by the names of which docs/doctor.md has a list.
_NUMBERS: dict[str, Callable[[Facts], Any]] = {
    "shm_total_bytes": _in("shm", "size"),
    "shm_free_bytes": _in("shm", "free"),
    "ray_tmp_total_bytes": _in("ray_tmp", "size"),
    "ray_tmp_free_bytes": _in("ray_tmp", "free"),
    "memory_total_bytes": lambda facts: facts.get("memory"),
    "cgroup_limit_bytes": _in("cgroup", "limit"),
    "cgroup_used_bytes": _in("cgroup", "used"),
    "cgroup_kills": _in("cgroup", "kills"),
    "nofile_soft": lambda facts: _limit(facts["nofile"][0]),
    "nofile_hard": lambda facts: _limit(facts["nofile"][1]),
    "nproc_soft": lambda facts: _limit(facts["nproc"][0]),
    "cpus": lambda facts: facts.get("cpus"),
    "gpus": lambda facts: len(facts["gpus"]),
    "ptrace_scope": lambda facts: facts.get("ptrace_scope"),
    "first_ephemeral_port": lambda facts: facts["ephemeral_ports"][0],
    "job_left_seconds": lambda facts: facts.get("job_left_s"),
}
# Texts, which are compared as versions by `below` and `above`.
_TEXTS: dict[str, Callable[[Facts], Any]] = {
    "python": lambda facts: facts.get("python"),
    "nvidia_driver": lambda facts: facts.get("driver"),
    "kernel": lambda facts: facts.get("kernel"),
    "system": lambda facts: facts.get("system"),
}
FACTS = (*_NUMBERS, *_TEXTS, *(_PACKAGE + name for name in PACKAGES))


class CheckError(ValueError):
    """A check isn't valid; the text says why."""


@frozen
class FactCheck:
    """True of a node, and so a finding, if its fact is `below` or `above` the value, `is` it, or `is_not` it."""

    fact: str
    operator: Operator
    value: Fact

    def is_true_of(self, fact: Fact) -> bool:
        if self.operator == "is":
            return fact == self.value
        if self.operator == "is_not":
            return fact != self.value
        left, right = _order(fact), _order(self.value)
        if left is None or right is None:
            return False
        return left < right if self.operator == "below" else left > right

    def finding(self, facts: Facts) -> str:
        """Returns what a node has, as text; "" if all is well, or the node couldn't read it."""
        value = _read(self.fact, facts)
        if value is None or not self.is_true_of(value):
            return ""
        return f"{self.fact}: {_shown(value)}"

    def example(self, written: str) -> Fact:
        """The value of an example; raises CheckError for one of another kind."""
        if self.fact not in _NUMBERS:
            return written
        if not _NUMBER.fullmatch(written):
            raise CheckError(f"{written} isn't a number, as examples of {self.fact} are")
        return float(written)


def check_of(value: Any) -> FactCheck:
    """The check in a rule's JSON: `{"fact": NAME, "below": VALUE}`; raises CheckError."""
    if not isinstance(value, dict) or not isinstance(value.get("fact"), str):
        raise CheckError('check must be an object such as {"fact": "nofile_soft", "below": 65535}')
    fact = value["fact"]
    operators = [name for name in OPERATORS if name in value]
    unknown = sorted(value.keys() - {"fact", *OPERATORS})
    if unknown:
        raise CheckError(f"{unknown[0]} isn't a field of checks")
    if len(operators) != 1:
        raise CheckError(f"a check has one of {', '.join(OPERATORS)}")
    if fact not in FACTS:
        raise CheckError(f"{fact} isn't a fact; the facts are {', '.join(FACTS)}")
    return FactCheck(fact, operators[0], _value(fact, operators[0], value[operators[0]]))


def _value(fact: str, operator: Operator, value: Any) -> Fact:
    if fact in _NUMBERS:
        number = _number(value)
        if number is None:
            raise CheckError(f"{operator} must be a number for {fact}")
        return number
    if not isinstance(value, str) or not value:
        raise CheckError(f"{operator} must be a text for {fact}")
    if operator in ("below", "above") and not _VERSION.match(value):
        raise CheckError(f'{operator} must be a version such as "2.13.0" for {fact}')
    return value


def _read(name: str, facts: Facts) -> Fact | None:
    """The fact of a node, which may have sent anything; None if it hasn't one of that kind."""
    try:
        if name in _NUMBERS:
            return _number(_NUMBERS[name](facts))
        is_package = name.startswith(_PACKAGE)
        text = facts["packages"].get(name[len(_PACKAGE) :]) if is_package else _TEXTS[name](facts)
    except (KeyError, TypeError, IndexError, AttributeError):
        return None
    return text if isinstance(text, str) and text else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and -_LARGEST <= value <= _LARGEST else None


def _order(value: Fact) -> tuple[float, ...] | None:
    """By which values are compared: numbers, and the numbers of versions (2.0 is 2.0.0); None for a text without."""
    if not isinstance(value, str):
        return (value,)
    version = _VERSION.match(value)
    if version is None:
        return None
    parts = [float(part) for part in version[0].split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _shown(value: Fact) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if value.is_integer() else str(value)
