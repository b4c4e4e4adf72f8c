"""A home in which nothing can be created keeps no command from what it does without one."""

from pathlib import Path

import pytest
from eagleray.cli.main import main

from tests.remote.inspecting.test_processes import WAYS, program, python

SAMPLE = Path(__file__).parents[2] / "samples" / "policy-0.sqlite"
LOG = "Traceback (most recent call last):\n  File 'a.py', line 1, in <module>\nValueError: x\n"


@pytest.fixture(params=["EAGLERAY_HOME", "HOME"])
def no_home(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A path below a file, where even root creates nothing; the folder of runtime files is there, too."""
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("EAGLERAY_HOME", raising=False)
    monkeypatch.setenv(request.param, str(tmp_path / "file" / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file" / "run"))
    monkeypatch.setenv("EAGLERAY_DISCOVERY", "off")
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        code = main(list(words))
    except SystemExit as ended:
        code = int(ended.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_process_is_sampled_and_inspected_without_a_home(
    no_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with python(program(WAYS["read"])) as process:
        words = ["stacks", "--pids", str(process.pid), "--seconds", "0.01"]
        code, output, _ = asked(capsys, *words)
        assert code == 0 and "fit" in output
        code, output, _ = asked(capsys, "inspect", "--pid", str(process.pid), "step")
        assert code == 0 and "7" in output


def test_logs_and_reports_are_read_without_a_home(
    no_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (no_home / "train.log").write_text(LOG)
    _, output, _ = asked(capsys, "doctor", str(no_home / "train.log"))
    assert "ValueError" in output
    code, output, errors = asked(capsys, "report", str(SAMPLE))
    assert code == 0 and output, errors


@pytest.mark.parametrize("words", ["--help", "completion bash", "runs", "clusters", "presets"])
def test_command_that_lists_finds_nothing_without_a_home(
    words: str, no_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = asked(capsys, *words.split())
    assert (code, "Traceback" in errors) == (0, False)


def test_run_says_which_folder_it_needs_and_what_to_set(
    no_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = asked(capsys, "run", "--", "python", "-c", "pass")
    assert code == 1 and errors.startswith("eagleray: Can't create the folder ")
    assert "Set EAGLERAY_HOME to a folder that you can write to." in errors
