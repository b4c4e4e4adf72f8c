"""The command, with a cluster and an adapter that are faked: output, errors, exit codes."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import pytest
from eagleray import __version__
from eagleray.cli.main import main
from eagleray.cli.output import print_json, step_now
from eagleray.common.errors import RETRYING, EaglerayError
from eagleray.ray.errors import cluster_slow
from eagleray.routes.ssh.errors import ssh_lost, ssh_unreachable

from tests.asked import START, eagleray
from tests.fakes.dashboard import FakeDashboard


async def test_errors_of_the_catalogue_are_printed(own_home: Path) -> None:
    done = await eagleray("paused")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "eagleray: No Ray cluster found.\n"
        "Start one, or name its dashboard: `--cluster http://host:8265`. "
        "`eagleray doctor --before` checks this machine.\n"
    )
    done = await eagleray("paused", "--cluster", "127.0.0.1:1", "--json")
    assert (done.code, done.out) == (1, "")
    assert "Nothing answers at http://127.0.0.1:1." in done.err


async def test_failing_cluster_is_shown_with_its_error(dashboard: FakeDashboard) -> None:
    dashboard.fault = "error_500"
    done = await eagleray("paused")
    assert done.code == 1
    assert "500" in done.err
    dashboard.fault = "protobuf"
    done = await eagleray("paused")
    assert done.code == 1
    assert "pip install 'protobuf<4.26'" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("--nonsense",),
        ("runs", "nonsense"),
        ("attach",),
        ("continue",),
        ("release",),
        ("logs", "w", "--lines", "0"),
        ("logs", "w", "--lines", "many"),
        ("logs", "w", "--follow", "--json"),
        ("tunnel",),
        ("tunnel", "8265", "nowhere"),
        ("tunnel", "8265", "host:0"),
        ("tunnel", "8265", "--port", "65536"),
    ],
)
def test_wrong_command_line_is_explained(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert said.err.startswith("eagleray: ") and len(said.err.splitlines()) == 2


def test_help_and_version_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--help", "--version"):
        with pytest.raises(SystemExit) as ended:
            main([option])
        assert ended.value.code == 0
    said = capsys.readouterr().out
    for command in (
        "clusters",
        "slurm",
        "tunnel",
        "paused",
        "attach",
        "continue",
        "release",
        "logs",
    ):
        assert command in said
    assert said.endswith(f"eagleray {__version__}\n")


def test_json_on_a_terminal_is_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_terminal, shown in ((True, '"\\u009b\\u202eñ"'), (False, '"\x9b\u202eñ"')):
        out = io.StringIO()
        monkeypatch.setattr(out, "isatty", lambda said=is_terminal: said)
        monkeypatch.setattr(sys, "stdout", out)
        print_json("\x9b\u202eñ")
        assert out.getvalue() == shown.replace("ñ", "\\u00f1" if is_terminal else "ñ") + "\n"


async def test_closed_output_ends_the_command_silently(dashboard: FakeDashboard) -> None:
    process = await asyncio.create_subprocess_shell(
        f"{sys.executable} {START} cli paused --json | head -c 1",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert (out, err) == (b"[", b"")


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (ssh_unreachable("login"), "Check the network or the VPN."),
        (cluster_slow("login", 3.0), "The head node may be busy."),
        (ssh_lost("login"), "Try again later."),
        (EaglerayError("code", "Message.", "Write it; then a.b: c."), "Write it; then a.b: c."),
        (EaglerayError("code", "Message."), ""),
    ],
)
def test_command_that_ends_does_not_promise_to_retry(error: EaglerayError, step: str) -> None:
    assert step_now(error) == step
    assert error.shown_step.endswith(RETRYING) == error.retries
