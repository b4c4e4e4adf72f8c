"""A secret in the arguments of a run: no wire record and no printed line has it, but the command that is copied."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict
from eagleray.runs import errors
from eagleray.runs.handlers import wire_run
from eagleray.runs.model import (
    RunPlan,
    RunState,
    command_text,
    confirm_text,
    exact_command,
    title,
)
from eagleray.runs.records import RunRecord, StoredRun

from tests.asked import ask
from tests.ray_cluster import wait_for
from tests.runs.terminal import listed
from tests.sidecar.stdio_client import sidecar

SECRET = "x9-never-shown"
ARGUMENTS = [
    *(f"--wandb_key={SECRET}", f"+hf_token={SECRET}", "--api-key", SECRET),
    *(f"--hub=https://me:{SECRET}@host/x", f"Authorization: Bearer {SECRET}", "--steps=3"),
]
ENV = {"HF_TOKEN": SECRET, "DB_URL": f"postgres://u:{SECRET}@db/x", "RANKS": "2"}


def plan(*argv: str, **more: Any) -> RunPlan:
    return RunPlan(
        kind="command", argv=(*argv, *ARGUMENTS), cwd="/w", name=argv[0], env=dict(ENV), **more
    )


def test_texts_of_a_plan_have_no_secret() -> None:
    sbatch = plan("sbatch", f"--export=ALL,HF_TOKEN={SECRET}", "run.sub")
    shown = [command_text(sbatch), title(sbatch), confirm_text(plan("x"))]
    shown += [
        confirm_text(
            RunPlan(kind="sbatch", argv=sbatch.command, cwd="/w", name="run.sub", env=sbatch.env)
        )
    ]
    assert SECRET not in " ".join(shown)
    assert shown[0].startswith("DB_URL=postgres://u:…@db/x HF_TOKEN=… RANKS=2 sbatch")
    assert shown[0].endswith("'Authorization: …' --steps=3")
    assert exact_command(sbatch).count(SECRET) == 2 + 5 + 1


def test_run_is_listed_without_secrets() -> None:
    state = RunState("failed", 1.0, 2.0, 1, f"sbatch: error: invalid --export=HF_TOKEN={SECRET}")
    listed_run = StoredRun(RunRecord("abc", Path("/r")), plan(f"HF_TOKEN={SECRET}"), state)
    assert SECRET not in json.dumps(asdict(wire_run(listed_run)))


@pytest.mark.parametrize(
    "error",
    [
        errors.needs_consent,
        errors.supervisor_not_started,
        errors.not_submitted,
        errors.narrow_export,
    ],
)
def test_errors_about_commands_have_no_secret(error: Any) -> None:
    made = error(f"sbatch --export=HF_TOKEN={SECRET} --api-key {SECRET}")
    assert SECRET not in f"{made} {made.message} {made.next_step} {made.detail}"


async def test_requests_of_the_panel_answer_without_secrets(own_home: Path, tmp_path: Path) -> None:
    """Only the command that is copied has them."""
    request = {"path": "", "args": ["true", *ARGUMENTS], "cwd": str(tmp_path)}
    async with sidecar() as panel:
        await panel.initialize(discovery="off")
        prepare = {**request, "env": ENV}
        proposal = await panel.result("eagleray/presets/prepare", prepare)
        started = await panel.result("eagleray/runs/start", {"plan": proposal["plan"]})
        run = started["id"]
        rows = await panel.result("eagleray/runs/list")
        copied = await panel.result("eagleray/runs/command", {"id": run})
    assert SECRET not in json.dumps([proposal, rows])
    assert rows["runs"][0]["command"].startswith("DB_URL=")
    assert copied["text"].count(SECRET) == 7


def test_printed_output_has_no_secret(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sub").touch()
    (tmp_path / "sbatch").symlink_to("/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    env = [f"--env={name}={value}" for name, value in ENV.items()]
    program = [sys.executable, "-c", "pass", *ARGUMENTS]
    printed = [ask(os.environ, "run", "--dry-run", *env, "--", *program)]
    printed += [ask(os.environ, "run", "--detach", *env, "--", *program)]
    run = printed[-1].stdout.strip()
    wait_for("the end of the run", lambda: listed()[0]["state"] == "exited")
    printed += [ask(os.environ, "runs"), ask(os.environ, "runs", "--json")]
    printed += [ask(os.environ, "run", "--", "sbatch", "run.sub", *ARGUMENTS)]
    text = "".join(ran.stdout + ran.stderr for ran in printed)
    assert text.count("--wandb_key=…") >= 3, text
    assert SECRET not in text
    folder = own_home / "runs" / run
    # The plan is what is started again; its folder is the user's own.
    assert folder.stat().st_mode & 0o077 == 0
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "plan.json"]
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
