"""Parsers of the doctor: rule files, a runtime_env and a program that name a Python, lock files, and excerpts of logs from nodes."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from attrs import asdict
from eagleray.common.errors import EaglerayError
from eagleray.doctor.logs.slurm_output import _copied
from eagleray.doctor.matching import Matcher, cause_of
from eagleray.doctor.model import LogEvidence, Rule
from eagleray.doctor.node_checks import NodeFacts, node_diagnosis
from eagleray.doctor.rule_files import example_results, read_rules
from eagleray.doctor.uv_projects import uv_versions
from eagleray.doctor.worker_python import worker_pythons

from tests.fuzz.target import Target, of_json
from tests.fuzz.targets.scratch import folder, written

RULE = {
    "id": "reward-empty",
    "pattern": r"reward model returned nothing for (?P<prompt>\S{1,40})(?: at .{0,20}|$)",
    "meaning": "The reward model has no answer for {prompt}.",
    "fix": "Restart it.",
    "why": "Rollouts wait for {prompt}.",
    "source": "our wiki",
    "severity": "warning",
    "follows": False,
    "settings": {"verl": "a=1"},
    "changes": [
        {"where": "environment", "name": "REWARD_RETRIES", "value": "5"},
        {"where": "override", "name": "reward.timeout", "value": "60", "framework": "verl"},
        {"where": "preset", "name": "no_checkpoint", "value": "yes"},
    ],
    "examples": ["E reward model returned nothing for p-12"],
    "counterexamples": ["reward model returned 0.1 for p-12"],
}
CHECK = {
    "id": "small-shm",
    "check": {"fact": "shm_total_bytes", "below": 68719476736},
    "meaning": "Shared memory is too small.",
    "fix": "Use the large queue.",
    "source": "our wiki",
    "examples": [1073741824],
    "counterexamples": [68719476736],
}
PATTERNS = (
    "(?:Errno 24|too many) open files",
    r"(?i:oom)-killed: [^ ]{0,9}(?P<a>x)?(?(a)y|z)",
    "段错误|已杀死|(?<!no )segfault",
    "a{2,9}bcdef(?=g)[h-k]*",
)
FACTS: dict[str, Any] = {"host": "n1", "shm": {"size": 2**30}, "packages": {"torch": "2.9.1"}}
# The time that a second pass of a pattern may take on a part of a line; the engine limits the whole input.
_LONG = "a 1\t(-:x" * 200


def rule_file(text: str) -> None:
    rules = read_rules(written("doctor-rules.json", text))
    example_results(rules)
    matcher = Matcher(rules)
    for rule in rules:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,60}", rule.id)
        assert rule.literals if rule.check is None else not rule.literals
        for literal in rule.literals:
            literal.encode()
        for line in (*rule.examples, *(f"{_LONG}{text}{_LONG}" for text in rule.literals)):
            _matched(matcher, line)
    json.dumps(asdict(node_diagnosis(NodeFacts((FACTS,)), own=rules))).encode()
    _shown(rules)


def _matched(matcher: Matcher, line: str) -> None:
    started = time.thread_time()
    matches = matcher.matches(line)
    assert time.thread_time() - started < 5, "a pattern takes too long"
    for match in matches:
        # Only its literals are searched.
        assert any(literal in line for literal in match.rule.literals)
        cause = cause_of(match, [LogEvidence("/a", 1, "a")], 1)
        json.dumps(asdict(cause), ensure_ascii=False).encode()


def _shown(rules: tuple[Rule, ...]) -> None:
    """A terminal shows each text of a rule."""
    for rule in rules:
        json.dumps(asdict(rule), ensure_ascii=False).encode()


def runtime_env(text: str) -> None:
    written("runtime_env/env.yaml", text)
    written("runtime_env/train.py", text)
    command = ["ray", "job", "submit", "--runtime-env=env.yaml", "--runtime-env-json", text]
    pythons = worker_pythons([*command, "train.py"], folder() / "runtime_env")
    for python in pythons:
        json.dumps(asdict(python), ensure_ascii=False).encode()


def lock_file(text: str) -> None:
    lock = written("uv/uv.lock", text)
    written("uv/.python-version", text)
    versions = uv_versions(["uv", "run"], lock.parent)
    assert versions.versions.keys() <= {"ray", "debugpy", "python"}


def excerpts(rows: Any) -> None:
    """Nothing is written outside of its folder."""
    copies = folder() / "copies"
    found = _copied(rows if isinstance(rows, list) else [], copies, clean=str)
    for path in found.paths:
        assert copies in path.parents
        for file in path.rglob("*"):
            assert path in file.resolve().parents


LOCK = """version = 1
requires-python = "==3.12.*"

[[package]]
name = "ray"
version = "2.54.0"
"""
PROGRAM = """import ray
ray.init(runtime_env={"py_executable": "uv run --locked --extra vllm", "pip": ["a"]})
env["py_executable"] = PY.VLLM
RuntimeEnv(py_executable="/opt/p")
"""

TARGETS = (
    of_json(
        "doctor-rules",
        rule_file,
        [
            {"format": 1, "rules": [RULE, CHECK]},
            *({"format": 1, "rules": [{**RULE, "pattern": text}]} for text in PATTERNS),
        ],
        (EaglerayError,),
    ),
    Target(
        "runtime-env",
        "text",
        runtime_env,
        [
            PROGRAM,
            '{"py_executable": "uv run --project a", "working_dir": "s3://b"}',
            "py_executable: /opt/p\npip:\n  - a\n",
        ],
        (),
        ("py_executable", "uv run", "--project", "--python", "runtime_env", "working_dir"),
    ),
    Target("uv-lock", "text", lock_file, [LOCK], (), ("[[package]]", 'name = "ray"', "version")),
    Target(
        "node-excerpts",
        "value",
        excerpts,
        [[{"host": "n1", "path": "/tmp/ray/a.err", "data": "eJwDAAAAAAE=", "size": 9, "end": ""}]],
    ),
)
