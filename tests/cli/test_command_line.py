"""The grammar of the command line: nouns and verbs, short names, help, and what it says about wrong ones."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

import pytest
from eagleray.cli.command_line import did_you_mean, parse, parser_of, understand
from eagleray.cli.commands import COMMANDS, SHORTCUTS, Noun, command_of, leaf_paths
from eagleray.cli.help_text import EXIT_CODES
from eagleray.cli.main import main
from eagleray.common import l10n


@pytest.mark.parametrize(
    ("written", "path", "rest"),
    [
        ("workers", "workers ls", ""),
        ("workers ls --paused", "workers ls", "--paused"),
        ("paused --json", "workers ls", "--paused --json"),
        ("attach policy-0", "workers attach", "policy-0"),
        ("continue --all", "workers continue", "--all"),
        ("release w", "workers detach", "w"),
        ("logs w --follow", "workers logs", "w --follow"),
        ("runs --json", "runs ls", "--json"),
        ("runs list", "runs ls", ""),
        ("runs follow 3f2a", "runs output", "3f2a"),
        ("runs --yes stop 3f2a", "runs stop", "--yes 3f2a"),
        ("runs restart 3f2a --yes", "runs rerun", "3f2a --yes"),
        ("runs forget 3f2a", "runs rm", "3f2a"),
        ("clusters --cluster 8265 --json", "clusters ls", "--cluster 8265 --json"),
        ("clusters rm 8265", "clusters rm", "8265"),
        ("slurm --host login", "slurm ls", "--host login"),
        ("profile --workers record", "profile start", "--workers record"),
        ("profile --record r", "profile start", "--record r"),
        ("profile gather r", "profile download", "r"),
        ("report r.nsys-rep --json", "report", "r.nsys-rep --json"),
        ("pdb 6f1c", "pdb", "6f1c"),
    ],
)
def test_command_line_leads_to_command(written: str, path: str, rest: str) -> None:
    wanted = understand(written.split())
    assert " ".join(wanted.path) == path
    assert " ".join(wanted.rest) == rest


@pytest.mark.parametrize("path", leaf_paths(), ids=" ".join)
def test_every_command_has_a_help_with_sentences_and_examples(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*path, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert f"\nUsage\n  eagleray {' '.join(path)}" in printed
    assert "\nOptions\n  -h, --help " in printed
    assert f"\nExamples\n  eagleray {' '.join(path)}" in printed
    for action in parser_of(path)._actions:
        if action.help != argparse.SUPPRESS:
            assert action.help and action.help[0].isupper() and action.help.endswith("."), action


@pytest.mark.parametrize("path", leaf_paths(), ids=" ".join)
def test_every_example_is_a_valid_command_line(path: tuple[str, ...]) -> None:
    for example, _ in command_of(path).examples:
        words = shlex.split(example.partition(" | ")[0].partition(" > ")[0])
        _, parsed = parse(words)
        assert parsed.command == command_of(path), example


@pytest.mark.parametrize(
    ("written", "worker", "expressions"),
    [
        ("w --json a b", "w", "a b"),
        ("a --pid 3 b", "a", "b"),
        ("--pid 3 a b", "a", "b"),
        ("--cluster 8265 w --json -- -a", "w", "-a"),
        ("--pid 3 -- -a -b", "-a", "-b"),
        ("w", "w", ""),
    ],
)
def test_options_may_stand_between_a_worker_and_expressions(
    written: str, worker: str, expressions: str
) -> None:
    _, parsed = parse(["inspect", *written.split()])
    assert (parsed.worker, " ".join(parsed.expressions)) == (worker, expressions)


def test_unknown_option_between_expressions_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["inspect", "w", "--jason", "a"])
    assert "Unknown option “--jason”. Did you mean “--json”?" in capsys.readouterr().err


def test_command_alone_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        for name in (*COMMANDS, *SHORTCUTS):
            assert f"\n  {name} " in printed.out
        assert "Examples\n  eagleray run" in printed.out


def test_exit_codes_are_in_the_documents() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")
    rows = [f"| {code} | {text} |" for code, text in EXIT_CODES.items()]
    assert "\n".join(["| Exit code | |", "| --- | --- |", *rows, ""]) in page


def test_help_of_a_noun_lists_its_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    for name, entry in COMMANDS.items():
        if isinstance(entry, Noun):
            with pytest.raises(SystemExit) as ended:
                main(["help", name])
            assert ended.value.code == 0
            printed = capsys.readouterr().out
            assert all(f"\n  {verb} " in printed for verb in entry.verbs)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("pasued", "Unknown command “pasued”. Did you mean “paused”?"),
        ("runs stpo 3f2a", "Unknown command “runs stpo”. Did you mean “stop”?"),
        ("runs 3f2a", "Unknown command “runs 3f2a”. Did you mean `eagleray runs output 3f2a`?"),
        ("runs ls --jsno", "Unknown option “--jsno”. Did you mean “--json”?"),
        ("runs ls extra", "Unknown argument “extra”"),
        ("run python x.py", "Write `--` before the program: eagleray run -- python x.py"),
        (
            "run --break a.py:3 python x.py --steps 3",
            "eagleray run --break a.py:3 -- python x.py --steps 3",
        ),
        (
            "profile --workers * python x.py",
            "eagleray profile --workers '*' -- python x.py",
        ),
        ("workers continue", "Specify at least one WORKER, or --all"),
        ("workers continue w --all", "Specify either WORKER or --all, not both"),
    ],
)
def test_wrong_command_line_says_what_to_write(
    written: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(written.split())
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    assert message in printed.err
    assert "--help`" in printed.err


def test_suggestion_names_only_close_names() -> None:
    assert did_you_mean("polcy-1", ["policy-1", "rollout"]) == "Did you mean “policy-1”?"
    assert did_you_mean("x", ["policy-1"]) == ""
    assert did_you_mean("", ["", "policy-1"]) == ""


def test_texts_are_translated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Texts of the table of commands, too, which is made before the language is known."""
    german = {"Stop a run": "Einen Lauf beenden", "Print this help.": "Diese Hilfe zeigen."}
    (tmp_path / "de.json").write_text(json.dumps(german), "utf-8")
    monkeypatch.setattr(l10n.use, "__defaults__", (tmp_path,))
    monkeypatch.setenv("EAGLERAY_LANGUAGE", "de")
    try:
        for arguments in (["help", "runs"], ["runs", "stop", "--help"]):
            with pytest.raises(SystemExit):
                main(arguments)
    finally:
        l10n.use("")
    printed = capsys.readouterr().out
    assert "  stop    Einen Lauf beenden\n" in printed
    assert "\nEinen Lauf beenden.\n" in printed and "Diese Hilfe zeigen." in printed
