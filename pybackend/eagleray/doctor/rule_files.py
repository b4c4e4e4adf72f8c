"""Reads rules from JSON files: Eagleray's own in `rules/`, and rules of users and teams."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.common.paths import home
from eagleray.doctor.errors import bad_rules
from eagleray.doctor.fact_checks import CheckError, check_of
from eagleray.doctor.matching import Matcher, group_names
from eagleray.doctor.model import PLACES, ROLES, SEVERITIES, Place, Rule, SettingChange
from eagleray.doctor.regex_literals import PatternError, literals_of
from eagleray.remote.injected.outside_files import content_of
from eagleray.runs.presets.model import ANSWERS

FORMAT = 1
# In the home, beside presets.
_USER_FILE = "doctor-rules.json"
# In a folder of a workspace, shared by a team.
_TEAM_FILE = Path(".eagleray", _USER_FILE)
_LARGEST = 8 * 2**20
_REQUIRED = ("id", "pattern", "meaning", "fix", "source")
_OF_CHECKS = {
    *("id", "check", "meaning", "fix", "source", "severity", "command"),
    *("examples", "counterexamples"),
}
_LISTS = ("examples", "counterexamples")
_CHANGE_FIELDS = {"where", "name", "value", "framework"}
_ID = re.compile(r"[a-z0-9][a-z0-9-]{1,60}")
# The form of a setting's name; its value is a fixed text, never a part of a log.
_NAMES: dict[Place, re.Pattern[str]] = {
    "environment": re.compile(r"[A-Za-z_]\w{0,100}"),
    "override": re.compile(r"(?:[+~]{0,2}|--)[A-Za-z_][\w.@/-]{0,200}"),
    "preset": re.compile("|".join(sorted(ANSWERS))),
}


class RuleError(ValueError):
    """A rule or a file of rules is wrong; the text says which one and why."""


@frozen
class ExampleResult:
    """A line of a rule's examples: whether the rule `matches` it, and whether it should."""

    rule: str
    line: str
    matches: bool
    should_match: bool

    @property
    def is_right(self) -> bool:
        return self.matches == self.should_match


@cache
def own_rules() -> tuple[Rule, ...]:
    """Eagleray's rules, in the order of their files."""
    folder = resources.files(__package__) / "rules"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".json"))
    texts = [(folder / name).read_text(encoding="utf-8") for name in files]  # own file
    return tuple(rule for text in texts for rule in rules_of(json.loads(text)))


def all_rules(more: Sequence[Path], folders: Sequence[str] = ()) -> tuple[Rule, ...]:
    """All rules, of which a later one replaces an earlier one with the same ID:

    1. Eagleray's.
    2. The user's.
    3. A team's, in `folders` of a workspace, which the user trusts.
    4. The rules of `more`.

    Raises EaglerayError for a file without valid rules.
    """
    unnamed = [home() / _USER_FILE, *(Path(folder) / _TEAM_FILE for folder in folders)]
    files = [*filter(_is_file, unnamed), *more]
    rules = {rule.id: rule for rule in own_rules()}
    for file in files:
        rules.update({rule.id: rule for rule in read_rules(file)})
    return tuple(rules.values())


def read_rules(path: Path) -> tuple[Rule, ...]:
    """The rules in `path`; raises EaglerayError with the reason if one of them isn't valid."""
    try:
        return rules_in(_content(path))
    except OSError as error:
        raise bad_rules(path, error.strerror or str(error)) from error
    except ValueError as error:
        raise bad_rules(path, str(error)) from error


def _is_file(path: Path) -> bool:
    """Whether a file is there that no one has named; raises EaglerayError for one that can't be read."""
    try:
        return path.is_file()
    except OSError as error:
        raise bad_rules(path, error.strerror or str(error)) from error


def _content(path: Path) -> bytes:
    """Raises RuleError for a file that isn't one of rules by its size."""
    content = content_of(path, _LARGEST + 1)
    if len(content) > _LARGEST:
        raise RuleError(f"it has more than {_LARGEST // 2**20} MB")
    return content


def rules_in(content: bytes) -> tuple[Rule, ...]:
    """The rules in the content of a file; raises ValueError with the reason if one of them isn't valid."""
    try:
        value = json.loads(content.decode("utf-8-sig"))
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise RuleError("it is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise RuleError("it has half of a character, such as \\ud800") from error
    return rules_of(value)


def rules_of(value: Any) -> tuple[Rule, ...]:
    """The rules in a file's JSON; raises RuleError."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise RuleError(f'it needs "format": {FORMAT}')
    entries = value.get("rules")
    if not isinstance(entries, list):
        raise RuleError('"rules" must be a list')
    rules = tuple(_rule(entry, index) for index, entry in enumerate(entries))
    ids = [rule.id for rule in rules]
    for repeated in {rule for rule in ids if ids.count(rule) > 1}:
        raise RuleError(f"the ID {repeated} occurs twice")
    return rules


def example_results(rules: tuple[Rule, ...]) -> list[ExampleResult]:
    """Each example and counterexample of `rules`, tried."""
    return [
        ExampleResult(rule.id, line, _matches(rule, line), should_match)
        for rule in rules
        for lines, should_match in ((rule.examples, True), (rule.counterexamples, False))
        for line in lines
    ]


def _matches(rule: Rule, example: str) -> bool:
    if rule.check is not None:
        return rule.check.is_true_of(rule.check.example(example))
    return bool(Matcher([rule]).matches(example))


def _rule(entry: Any, index: int) -> Rule:
    if not isinstance(entry, dict):
        raise RuleError(f"rule {index + 1} isn't an object")
    try:
        if "check" in entry:
            return _check_rule(entry)
        _check_types(entry)
        lists = {key: tuple(entry[key]) for key in _LISTS if key in entry}
        changes = tuple(_change(value) for value in entry.get("changes", []))
        settings = {**_settings(changes), **entry.get("settings", {})}
        # Files of teams from before there were roles.
        role = "consequence" if entry.get("follows") else entry.get("role", "cause")
        entry = {key: value for key, value in entry.items() if key != "follows"}
        own = {**entry, "role": role, **lists, "changes": changes, "settings": settings}
        return _checked(Rule(**own, literals=literals_of(entry["pattern"])))
    except (CheckError, PatternError, RuleError) as error:
        raise RuleError(f"rule {entry.get('id', index + 1)}: {error}") from error


def _check_rule(entry: dict[str, Any]) -> Rule:
    """Raises CheckError or RuleError for one that isn't valid."""
    for key in entry:
        if key not in _OF_CHECKS:
            raise RuleError(f"a rule with a check has no {key}")
    check = check_of(entry["check"])
    examples = {key: tuple(map(_example, entry[key])) for key in _LISTS if _is_list(entry, key)}
    _check_types({**entry, **{key: list(examples[key]) for key in examples}, "pattern": "check"})
    for example in (value for values in examples.values() for value in values):
        check.example(example)
    return _checked(Rule(**{**entry, **examples, "check": check, "pattern": ""}))


def _is_list(entry: dict[str, Any], key: str) -> bool:
    return isinstance(entry.get(key), list)


def _example(value: Any) -> Any:
    """A number as text, as it is written in a result."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return str(value) if is_number else value


def _change(value: Any) -> SettingChange:
    """Raises RuleError for an entry that names no setting."""
    if not isinstance(value, dict) or not all(map(_is_text, value.values())):
        raise RuleError("changes must be a list of objects with texts")
    if {"where", "name", "value"} - value.keys() or value.keys() - _CHANGE_FIELDS:
        raise RuleError("a change has where, name, value, and may have a framework")
    change = SettingChange(**value)
    if change.where not in PLACES:
        raise RuleError(f"where must be one of {', '.join(PLACES)}")
    if not _NAMES[change.where].fullmatch(change.name):
        raise RuleError(f"{change.name} can't be the name of a setting there")
    if not change.value.isprintable():
        raise RuleError(f"the value of {change.name} must be one line")
    return change


def _settings(changes: tuple[SettingChange, ...]) -> dict[str, str]:
    """The changes of each framework, to be copied."""
    names = dict.fromkeys(change.framework for change in changes if change.framework)
    return {
        name: " ".join(change.text for change in changes if change.framework == name)
        for name in names
    }


def _check_types(entry: dict[str, Any]) -> None:
    """Raises RuleError for a field that is missing, unknown or of another type."""
    for key in _REQUIRED:
        # Where the message itself says what to do, or another line has the reason.
        if not _is_text(entry.get(key)) and not (key == "fix" and entry.get(key) == ""):
            raise RuleError(f"{key} must be a text")
    for key, value in entry.items():
        if key in _LISTS:
            is_right = isinstance(value, list) and all(map(_is_text, value))
        elif key == "settings":
            is_right = isinstance(value, dict) and all(map(_is_text, value.values()))
        elif key == "changes":
            is_right = isinstance(value, list)
        elif key == "why":
            is_right = _is_text(value)
        elif key == "command":
            is_right = _is_text(value) and value.isprintable()
        elif key == "follows":
            is_right = isinstance(value, bool)
        elif key == "check":
            is_right = isinstance(value, dict)
        elif key == "role":
            is_right = value in ROLES
        elif key == "severity":
            is_right = value in SEVERITIES
        elif key in _REQUIRED:
            is_right = True
        else:
            raise RuleError(f"{key} isn't a field of rules")
        if not is_right:
            raise RuleError(f"{key} has no valid value")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _checked(rule: Rule) -> Rule:
    if not _ID.fullmatch(rule.id):
        raise RuleError("an ID has small letters, digits and hyphens")
    for name in re.findall(r"\{(\w+)\}", rule.meaning + rule.fix + rule.why):
        if name not in group_names(rule.pattern):
            what = "pattern" if rule.check is None else "check"
            raise RuleError(f"the {what} has no group {name}")
    return rule
