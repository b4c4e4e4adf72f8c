"""Eagleray's own rules obey their examples; files of users are checked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from eagleray.cli.main import main
from eagleray.common.errors import EaglerayError
from eagleray.doctor import texts
from eagleray.doctor.fact_checks import FACTS, FactCheck
from eagleray.doctor.matching import Matcher, cause_of
from eagleray.doctor.messages import DIAGNOSE
from eagleray.doctor.model import Checked, Diagnosis
from eagleray.doctor.node_checks import NodeFacts, node_diagnosis
from eagleray.doctor.node_rules import DIFFERENCES, RULES
from eagleray.doctor.rule_files import (
    all_rules,
    example_results,
    own_rules,
    read_rules,
)
from eagleray.remote.scripts import node_facts

from tests.sidecar.stdio_client import sidecar

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


# Programs that a sentence must not tell the user to type: a rule has them as its `command`.
_TYPED = re.compile(
    r"`(?:ray|eagleray|ulimit|git|pip|uv|conda|python3?|ss|ip|ls|cat|dmesg|sacct|squeue|scontrol|srun|nvidia-smi|kill|pkill)"
    r"(?![\w.])[^`]*`|\b[Rr]un `"
)


def test_no_rule_is_searched_by_the_level_of_a_logger() -> None:
    """Each line of an error would be read for it: 354,000 in a log of 1 GB took 10 seconds."""
    literals = {text.strip() for rule in own_rules() for text in rule.literals}
    assert not literals & {"ERROR", "WARNING", "INFO", "Error:", "Exception:", "CRITICAL"}


def test_texts_of_own_rules_name_no_command_to_type() -> None:
    sentences = [text for rule in own_rules() for text in (rule.meaning, rule.fix, rule.why)]
    sentences += [text for rule in (*RULES, *DIFFERENCES) for text in (rule.meaning, rule.fix)]

    assert [text for text in sentences if _TYPED.search(text)] == []


def test_command_of_a_rule_belongs_to_its_cause(tmp_path: Path) -> None:
    (rule,) = read_rules(_file(tmp_path, {**RULE, "command": "ray status"}))
    (match,) = Matcher([rule]).matches(RULE["examples"][0])

    cause = cause_of(match, [], 1)

    assert cause.command == "ray status"
    printed = texts.lines(Diagnosis("", (cause,), (), Checked(0, 0, 1)))
    assert printed[printed.index("  Fix: Restart it.") + 1] == "    $ ray status"


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


def _team_file(folder: Path, content: str) -> Path:
    file = folder / ".eagleray" / "doctor-rules.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    return file


def test_rules_of_a_team_replace_the_rules_of_the_user(own_home: Path, tmp_path: Path) -> None:
    sources = {"user": own_home / "doctor-rules.json", "team": tmp_path / "a", "named": tmp_path}
    texts = {
        name: json.dumps({"format": 1, "rules": [{**RULE, "source": name}]}) for name in sources
    }
    sources["user"].write_text(texts["user"])
    _team_file(sources["team"], texts["team"])
    named = tmp_path / "named.json"
    named.write_text(texts["named"])

    def source(*more: Path, folders: Sequence[str] = ()) -> str:
        return next(rule.source for rule in all_rules(more, folders) if rule.id == "reward-empty")

    assert source() == "user"
    assert source(folders=[str(tmp_path), str(sources["team"])]) == "team"
    assert source(named, folders=[str(sources["team"])]) == "named"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "Expecting property name"),
        ('{"format": 2}', 'it needs "format": 1'),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"format": 1, "rules": ["\\ud800"]}', "it has half of a character"),
        (" " * (8 * 2**20 + 1), "it has more than 8 MB"),
    ],
)
def test_wrong_file_of_a_team_is_named(
    own_home: Path, tmp_path: Path, content: str, reason: str
) -> None:
    file = _team_file(tmp_path, content)

    with pytest.raises(EaglerayError) as refused:
        all_rules([], [str(tmp_path)])

    assert refused.value.code == "bad-rules"
    assert str(file) in refused.value.message
    assert reason in refused.value.message


def test_pipe_in_place_of_a_file_of_a_team_is_not_opened(own_home: Path, tmp_path: Path) -> None:
    file = _team_file(tmp_path, "")
    file.unlink()
    os.mkfifo(file)

    assert all_rules([], [str(tmp_path)]) == own_rules()


async def test_rules_of_a_team_count_for_the_editor_that_names_their_folder(
    own_home: Path, tmp_path: Path
) -> None:
    _team_file(tmp_path, json.dumps({"format": 1, "rules": [RULE]}))
    log = tmp_path / "a.log"
    log.write_text("E reward model returned nothing for p-12\n")

    async with sidecar() as client:
        await client.initialize()
        target = {"paths": [str(log)], "rule_folders": [str(tmp_path)]}
        found = await client.result(DIAGNOSE, target)
        without = await client.result(DIAGNOSE, {"paths": [str(log)]})
        assert await client.end() == 0

    assert [cause["id"] for cause in found["causes"]] == ["reward-empty"]
    assert without["causes"] == []


def test_command_line_reads_no_unnamed_file_of_its_folder(
    own_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    team = _team_file(tmp_path, json.dumps({"format": 1, "rules": [RULE]}))
    log = tmp_path / "a.log"
    log.write_text("E reward model returned nothing for p-12\n")
    monkeypatch.chdir(tmp_path)

    assert main(["doctor", str(log)]) == 0
    assert capsys.readouterr().out.startswith("No errors in 1 file.")
    assert main(["doctor", str(log), "--rules", str(team)]) == 0
    assert capsys.readouterr().out.startswith("The reward model has no answer for p-12.")


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
        ({"role": "reason"}, "role has no valid value"),
        ({"settings": {"verl": 1}}, "settings has no valid value"),
        ({"why": ""}, "why has no valid value"),
        ({"why": "Since {answer}."}, "the pattern has no group answer"),
        ({"changes": {}}, "changes has no valid value"),
        ({"changes": [{"where": "environment", "name": "A"}]}, "a change has where, name, value"),
        ({"changes": [{**CHANGE, "by": "me"}]}, "a change has where, name, value"),
        ({"command": "ray status\nray stop"}, "command has no valid value"),
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


def test_rule_that_follows_in_an_older_file_is_a_consequence(tmp_path: Path) -> None:
    (rule,) = read_rules(_file(tmp_path, {**RULE, "follows": True}))

    assert rule.role == "consequence"


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


CHECK = {
    "id": "small-shm",
    "check": {"fact": "shm_total_bytes", "below": 64 * 2**30},
    "meaning": "Shared memory is too small for our jobs.",
    "fix": "Use the large queue.",
    "source": "our wiki",
    "severity": "error",
    "examples": [2**30],
    "counterexamples": [64 * 2**30],
}


def test_check_of_a_user_is_a_finding_on_its_nodes(tmp_path: Path) -> None:
    rules = read_rules(_file(tmp_path, CHECK))
    nodes = ({"host": "n1", "shm": {"size": 2**30}}, {"host": "n2", "shm": {"size": 2**40}})

    (cause,) = node_diagnosis(NodeFacts(nodes), own=rules).causes

    assert (cause.id, cause.severity) == ("small-shm", "error")
    assert [(item.node, item.text) for item in cause.evidence] == [
        ("n1", "shm_total_bytes: 1073741824")
    ]
    assert all(result.is_right for result in example_results(rules))


def test_check_of_a_user_replaces_ours_with_the_same_id(tmp_path: Path) -> None:
    node = {"host": "n1", "shm": {"size": 1}, "memory": 10**12}

    assert [cause.id for cause in node_diagnosis(NodeFacts((node,))).causes] == ["node-shm"]
    check = {**CHECK, "id": "node-shm", "check": {"fact": "shm_total_bytes", "is": 0}}
    own = read_rules(_file(tmp_path, {**check, "examples": [0]}))
    assert node_diagnosis(NodeFacts((node,)), own=own).causes == ()


@pytest.mark.parametrize(
    ("check", "found", "is_finding"),
    [
        ({"fact": "nofile_soft", "below": 65535}, {"nofile": [1024, 4096]}, True),
        ({"fact": "nofile_soft", "below": 65535}, {"nofile": [65535, 65535]}, False),
        # Unlimited, and what a node hasn't sent as we do.
        ({"fact": "nproc_soft", "below": 4096}, {"nproc": [-1, -1]}, False),
        ({"fact": "nofile_soft", "below": 65535}, {"nofile": []}, False),
        ({"fact": "nofile_soft", "below": 65535}, {"nofile": "x"}, False),
        ({"fact": "shm_total_bytes", "below": 9}, {"shm": {"size": True}}, False),
        ({"fact": "shm_total_bytes", "above": 9}, {"shm": {"size": 10**400}}, False),
        ({"fact": "shm_total_bytes", "below": 9}, {"shm": [1]}, False),
        ({"fact": "gpus", "is_not": 8}, {"gpus": ["/dev/nvidia0"]}, True),
        (
            {"fact": "package.torch", "below": "2.13.0"},
            {"packages": {"torch": "2.9.1+cu128"}},
            True,
        ),
        ({"fact": "package.torch", "below": "2.13.0"}, {"packages": {"torch": "2.13"}}, False),
        ({"fact": "package.torch", "above": "2.12"}, {"packages": {"torch": "2.13.0"}}, True),
        ({"fact": "package.torch", "below": "2.13.0"}, {"packages": {}}, False),
        ({"fact": "package.torch", "below": "2.13.0"}, {"packages": {"torch": "nightly"}}, False),
        ({"fact": "nvidia_driver", "is_not": "570.86"}, {"driver": "550.54"}, True),
        ({"fact": "nvidia_driver", "is_not": "570.86"}, {"driver": ""}, False),
        ({"fact": "job_left_seconds", "below": 3600}, {"job_left_s": 60.5}, True),
    ],
)
def test_check_compares_one_fact(
    tmp_path: Path, check: dict[str, Any], found: dict[str, Any], is_finding: bool
) -> None:
    entry = {**CHECK, "id": "own", "check": check, "examples": [], "counterexamples": []}

    causes = node_diagnosis(
        NodeFacts(({"host": "n1", **found},)), own=read_rules(_file(tmp_path, entry))
    ).causes

    assert ("own" in [cause.id for cause in causes]) is is_finding


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pattern": "too many words"}, "rule small-shm: a rule with a check has no pattern"),
        ({"why": "It fails."}, "a rule with a check has no why"),
        ({"check": "shm < 1"}, "check must be an object such as"),
        ({"check": {"below": 1}}, "check must be an object such as"),
        ({"check": {"fact": "shm_total_bytes"}}, "a check has one of below, above, is, is_not"),
        ({"check": {"fact": "cpus", "below": 1, "above": 2}}, "a check has one of below, above"),
        ({"check": {"fact": "cpus", "under": 1}}, "under isn't a field of checks"),
        ({"check": {"fact": "shm", "below": 1}}, "shm isn't a fact; the facts are shm_total_bytes"),
        ({"check": {"fact": "package.foo", "is": "1"}}, "package.foo isn't a fact"),
        ({"check": {"fact": "cpus", "below": "8"}}, "below must be a number for cpus"),
        ({"check": {"fact": "cpus", "below": True}}, "below must be a number for cpus"),
        ({"check": {"fact": "cpus", "below": 10**400}}, "below must be a number for cpus"),
        ({"check": {"fact": "python", "below": 3.11}}, "below must be a text for python"),
        ({"check": {"fact": "python", "below": "new"}}, 'must be a version such as "2.13.0"'),
        ({"examples": ["small"]}, "small isn't a number"),
        ({"examples": [True]}, "examples has no valid value"),
        ({"examples": "1"}, "examples has no valid value"),
        ({"meaning": "Too small: {size}."}, "the check has no group size"),
        ({"fix": 3}, "fix must be a text"),
        ({"id": "Small"}, "an ID has small letters"),
    ],
)
def test_wrong_check_is_refused_with_the_reason(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(EaglerayError) as refused:
        read_rules(_file(tmp_path, {**CHECK, **change}))

    assert reason in refused.value.message


def test_each_fact_of_checks_is_read_from_this_machine() -> None:
    own = node_facts.facts()
    # No GPU, limit, package or job need be there.
    may_lack = ("cgroup_", "nvidia_driver", "package.", "job_left_seconds", "nofile_", "nproc_")
    missing = [name for name in FACTS if FactCheck(name, "is_not", "").finding(own) == ""]

    assert [name for name in missing if not name.startswith(may_lack)] == []


def test_documents_name_each_fact_of_checks() -> None:
    text = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text()

    assert [name for name in FACTS if "package." not in name and f"`{name}`" not in text] == []


def test_texts_of_own_examples_are_whole() -> None:
    rules = own_rules()
    matcher = Matcher(rules)
    matches = [match for rule in rules for line in rule.examples for match in matcher.matches(line)]
    causes = [cause_of(match, [], 1) for match in matches]
    # A question ends with a mark of its own.
    shown = [(cause.id, f"{cause.sentence} {cause.fix} {cause.why}") for cause in causes]
    assert [name for name, text in shown if re.search(r"(?<![\w)'])\?", text)] == []
