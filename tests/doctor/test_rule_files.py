"""Eagleray's own rules obey their examples; files of users are checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.features.doctor.matching import Matcher
from eagleray.features.doctor.rule_files import (
    all_rules,
    example_results,
    own_rules,
    read_rules,
)

RULE = {
    "id": "reward-empty",
    "pattern": r"reward model returned nothing for (?P<prompt>\S{1,40})",
    "meaning": "The reward model has no answer for {prompt}.",
    "fix": "Restart it.",
    "source": "our wiki",
    "examples": ["E reward model returned nothing for p-12"],
    "counterexamples": ["reward model returned 0.1 for p-12"],
}

CHANGE = {"where": "environment", "name": "NCCL_CUMEM_ENABLE", "value": "0"}


def test_changes_of_a_framework_can_be_copied(tmp_path: Path) -> None:
    changes = [
        CHANGE,
        {"where": "override", "name": "a.b", "value": "1", "framework": "verl"},
        {"where": "override", "name": "--c", "value": "2", "framework": "verl"},
    ]

    (rule,) = read_rules(
        _file(tmp_path, {**RULE, "changes": changes, "settings": {"NeMo RL": "N=1"}})
    )

    assert rule.settings == {"verl": "a.b=1 --c 2", "NeMo RL": "N=1"}
    assert [(change.name, change.framework) for change in rule.changes] == [
        ("NCCL_CUMEM_ENABLE", ""),
        ("a.b", "verl"),
        ("--c", "verl"),
    ]


def test_own_errors_say_why_others_follow() -> None:
    silent = [rule.id for rule in own_rules() if rule.severity == "error" and not rule.why]

    assert silent == ["debugpy-missing"]


def test_own_rules_match_their_examples_and_not_their_counterexamples() -> None:
    results = example_results(own_rules())

    assert [result for result in results if not result.is_right] == []
    assert {result.rule for result in results if result.should_match} == {
        rule.id for rule in own_rules()
    }


def test_example_of_a_rule_matches_no_other_rule() -> None:
    matcher = Matcher(own_rules())
    # A bus error names the shared memory, a registration fails in Ray's words twice.
    both = {
        (rule.id, match.rule.id)
        for rule in own_rules()
        for example in rule.examples
        for match in matcher.matches(example)
        if match.rule.id != rule.id
    }

    assert both == set()


def test_rule_of_a_user_is_added(own_home: Path, tmp_path: Path) -> None:
    rules = all_rules([_file(tmp_path, RULE)])

    assert len(rules) == len(own_rules()) + 1
    assert rules[-1].literals == ("reward model returned nothing for ",)


def test_rule_of_a_user_replaces_that_with_the_same_id(own_home: Path, tmp_path: Path) -> None:
    (own_home / "doctor-rules.json").write_text(
        json.dumps({"format": 1, "rules": [{**RULE, "id": "ulimit-nofile"}]})
    )

    rules = {rule.id: rule for rule in all_rules([])}

    assert rules["ulimit-nofile"].source == "our wiki"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pattern": "(x+)+ in a repeat"}, "rule reward-empty: a repeat within a repeat"),
        ({"pattern": ""}, "rule reward-empty: pattern must be a text"),
        ({"patern": "x"}, "rule reward-empty: patern isn't a field"),
        ({"severity": "fatal"}, "severity has no valid value"),
        ({"id": "Reward Empty"}, "an ID has small letters"),
        ({"meaning": "No {answer}."}, "the pattern has no group answer"),
        ({"examples": "one"}, "examples has no valid value"),
        ({"follows": []}, "follows has no valid value"),
        ({"settings": {"verl": 1}}, "settings has no valid value"),
        ({"why": ""}, "why has no valid value"),
        ({"why": "Since {answer}."}, "the pattern has no group answer"),
        ({"changes": {}}, "changes has no valid value"),
        ({"changes": [{"where": "environment", "name": "A"}]}, "a change has where, name, value"),
        ({"changes": [{**CHANGE, "by": "me"}]}, "a change has where, name, value"),
        ({"changes": [{**CHANGE, "value": 1}]}, "changes must be a list of objects with texts"),
        ({"changes": [{**CHANGE, "where": "argument"}]}, "where must be one of environment"),
        ({"changes": [{**CHANGE, "name": "A B"}]}, "A B can't be the name of a setting"),
        ({"changes": [{**CHANGE, "where": "preset"}]}, "can't be the name of a setting"),
        ({"changes": [{**CHANGE, "value": "1\n2"}]}, "must be one line"),
    ],
)
def test_wrong_rule_is_refused_with_the_reason(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(EaglerayError) as refused:
        read_rules(_file(tmp_path, {**RULE, **change}))

    assert reason in refused.value.message


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "rules": [1]}', "{"])
def test_file_without_rules_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rules.json"
    file.write_text(text)

    with pytest.raises(EaglerayError, match="has no valid rules"):
        read_rules(file)


def _file(folder: Path, *rules: dict[str, Any]) -> Path:
    file = folder / "rules.json"
    file.write_text(json.dumps({"format": 1, "rules": rules}))
    return file
