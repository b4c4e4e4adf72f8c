"""Expressions for grep: whole patterns of rules, so that a line with only a literal of one is skipped."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

import pytest
from eagleray.common import l10n
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.logs.literal_scan import LiteralScan, gnu_grep
from eagleray.doctor.matching import Matcher, cause_of
from eagleray.doctor.regex_literals import grep_form
from eagleray.doctor.rule_files import own_rules


def test_each_example_has_the_form_of_its_rule(tmp_path: Path) -> None:
    missing = []
    for rule in own_rules():
        examples = "".join(f"(Worker pid=7) {each}\n" for each in rule.examples if rule.literals)
        ran = subprocess.run(
            [gnu_grep(), "-acE", "-e", grep_form(rule.pattern) if examples else b"x"],
            input=examples.encode(),
            capture_output=True,
            env={"LC_ALL": "C"},
            check=False,
        )
        if int(ran.stdout) != examples.count("\n") or ran.stderr:
            missing.append((rule.id, ran.stdout, ran.stderr))
    assert missing == []


@pytest.mark.parametrize(
    ("pattern", "line", "has_form"),
    [
        (r"exit(?:code|ed): -?(\d{1,3})\b", "exitcode: -9", True),
        (r"exit(?:code|ed): -?(\d{1,3})\b", "exitcode=9", False),
        (r"^Failed to (?!bind)\S{1,20} \[[^]]+\]$", "x Failed to open [a]", True),
        (r"^Failed to (?!bind)\S{1,20} \[[^]]+\]$", "Failed to open a", False),
        (r"[]^-]{2}(?i:oom) killed [\w.]+", "^-OOM killed größe", True),
        (r"错误(?:码)? ?[0-9a-f]+", "错误码 7f", True),
        (r"错误(?:码)? ?[0-9a-f]+", "错码 7f", False),
        (r"two words fail", "two \x1b[1mwords\x1b[0m fail", True),
    ],
)
def test_form_is_in_lines_with_a_match(pattern: str, line: str, has_form: bool) -> None:
    ran = subprocess.run(
        ["grep", "-aqE", "-e", grep_form(pattern)],
        input=line.encode(),
        env={"LC_ALL": "C"},
        check=False,
    )
    assert (ran.returncode == 0) is has_form


def test_lines_with_a_mere_literal_are_not_reported(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("request 7 timed out after 3 s\nanswer not found, exitcode=3\n" * 9)
    matcher = Matcher(own_rules())
    literals = [each.encode() for each in matcher.literals()]
    files = list_logs([log])[0]

    assert [*LiteralScan(files, literals).hits()]
    assert [*LiteralScan(files, literals, whole=matcher.grep_forms()).hits()] == []


def test_colours_between_the_words_of_a_message_do_not_hide_its_cause(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("RuntimeError: CUDA error: \x1b[1munspecified\x1b[0m launch failure\n")
    assert [each.id for each in diagnose(list_logs([log])[0], own_rules()).causes] == [
        "launch-failure"
    ]


_LETTERS = "abZ -][^\\{}()|*+?.$é误7/:=\t"
_SETS = (r"\d", r"\w", r"\s", r"\S", r"\W", ".", r"[]\-^a-f]", r"[^\]x]", r"[\[\wé]", "[0-9:.=]")


def _pattern(rand: random.Random, depth: int = 0) -> str:
    """A sequence of letters, sets, places, alternatives and repeats, as rules have."""
    parts = []
    for _ in range(rand.randrange(1, 5)):
        kind = rand.randrange(4 if depth > 2 else 8)
        inner = _pattern(rand, depth + 1) if kind > 3 else ""
        parts.append(
            (
                re.escape(rand.choice(_LETTERS)),
                re.escape(rand.choice(_LETTERS)),
                rand.choice(_SETS),
                rand.choice((r"\b", "^", "$")),
                f"(?:{inner}|{rand.choice('ab')}|)",
                f"(?:{inner}){rand.choice(('?', '*', '+', '{2}', '{0,3}', '{1,4}?'))}",
                f"(?{rand.choice('=!')}{inner})",
                f"(?i:{inner})",
            )[kind]
        )
    return "".join(parts)


def test_form_of_any_pattern_is_valid_and_in_each_line_with_a_match() -> None:
    rand = random.Random(7)
    for _ in range(80):
        pattern = _pattern(rand)
        lines = ["".join(rand.choices(_LETTERS, k=rand.randrange(14))) for _ in range(60)]
        ran = subprocess.run(
            ["grep", "-anE", "-e", grep_form(pattern)],
            input="".join(f"{line}\n" for line in lines).encode(),
            capture_output=True,
            env={"LC_ALL": "C"},
            check=False,
        )
        reported = {int(each.partition(b":")[0]) for each in ran.stdout.splitlines()}
        matched = {at for at, line in enumerate(lines, 1) if re.search(pattern, line)}
        assert (ran.stderr, matched - reported) == (b"", set()), pattern


def test_cause_is_in_the_users_language_with_the_values_of_its_line(tmp_path: Path) -> None:
    rule = next(rule for rule in own_rules() if rule.id == "cuda-oom")
    translations = {
        rule.meaning: "一块 GPU 已没有 {size} 可用显存。",
        rule.fix: "请减小 micro batch。",
    }
    (tmp_path / "zh-cn.json").write_text(json.dumps(translations), "utf-8")
    line = "CUDA out of memory. Tried to allocate 2.00 GiB"
    match = Matcher([rule]).matches(line)[0]
    l10n.use("zh_CN.UTF-8", tmp_path)
    try:
        cause = cause_of(match, (), 1)
    finally:
        l10n.use("")
    assert (cause.sentence, cause.fix, cause.why) == (
        "一块 GPU 已没有 2.00 GiB 可用显存。",
        "请减小 micro batch。",
        rule.why,
    )
