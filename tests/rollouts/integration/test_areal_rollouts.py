"""The script that runs rollouts through AReaL's controller, with a fake of AReaL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from eagleray.rollouts.integration.commands import (
    SCRIPT,
    ArealTest,
    areal_agent,
    areal_command,
    new_trial,
)

FAKE = Path(__file__).parent / "fake_areal"
CONFIG = {
    "scheduler": {"type": "ray"},
    "rollout": {"backend": "sglang:d2t4"},
    "gconfig": {"n_samples": 8},
    "sglang": {},
    "vllm": {},
}


def test_items_run_through_the_controller(tmp_path: Path) -> None:
    ran = _run(tmp_path, ["a", "b"])

    calls = _calls(ran)
    assert [call["call"] for call in calls] == [
        "controller",
        "initialize",
        "start_proxy",
        "rollout_batch",
        "destroy",
    ]
    assert calls[0]["scheduler"] == "LocalScheduler"
    assert calls[0]["rollout"]["enable_rollout_tracing"] == "true"
    assert calls[0]["rollout"]["max_concurrent_rollouts"] == "2"
    assert calls[1]["server_args"] == {"engine": "sglang", "tp_size": 4}
    assert (calls[3]["workflow"], calls[3]["group_size"]) == ("my_agent.MyAgent", 8)
    assert ran.stdout.endswith("accepted 2 of 2 groups\n")
    assert ran.returncode == 0


def test_modules_of_eagleray_are_not_on_the_path_of_the_engine(tmp_path: Path) -> None:
    path = _calls(_run(tmp_path, ["a"]))[1]["path"]
    assert str(tmp_path) in path and str(SCRIPT.parent) not in path


def test_key_that_the_configuration_lacks_is_added(tmp_path: Path) -> None:
    """Hydra refuses it without `++`."""
    [controller, *_] = _calls(_run(tmp_path, ["a"], "rollout.queue_size=8"))
    assert controller["rollout"]["queue_size"] == "8"


def test_key_that_everybody_knows_is_replaced(tmp_path: Path) -> None:
    """areal 1.0.4 refuses it where its proxies listen on a network address."""
    [controller, *_] = _calls(_run(tmp_path, ["a"], "rollout.admin_api_key=areal-admin-key"))
    assert len(controller["rollout"]["admin_api_key"]) == 64
    [controller, *_] = _calls(_run(tmp_path, ["a"], "rollout.admin_api_key=mine"))
    assert controller["rollout"]["admin_api_key"] == "mine"


def test_rejected_group_fails_the_test(tmp_path: Path) -> None:
    ran = _run(tmp_path, ["a", "reject"])

    assert ran.stdout.endswith("accepted 1 of 2 groups\n")
    assert ran.returncode == 1


def test_controller_is_destroyed_after_an_error(tmp_path: Path) -> None:
    ran = _run(tmp_path, ["raise"])

    assert _calls(ran)[-1]["call"] == "destroy"
    assert "the engine has ended" in ran.stderr
    assert ran.returncode == 1


def test_vllm_gets_its_own_arguments(tmp_path: Path) -> None:
    ran = _run(tmp_path, ["a"], "rollout.backend=vllm:d1")

    assert _calls(ran)[1]["server_args"] == {"engine": "vllm", "tp_size": 1}


def test_pipeline_of_sglang_has_its_stages(tmp_path: Path) -> None:
    ran = _run(tmp_path, ["a"], "rollout.backend=sglang:d1t2p2")

    assert _calls(ran)[1]["server_args"] == {"engine": "sglang", "tp_size": 2, "pp_size": 2}


def test_scheduler_that_runs_no_agents_is_refused(tmp_path: Path) -> None:
    ran = _run(tmp_path, ["a"], "scheduler.type=ray")

    assert ran.stderr == "scheduler.type=ray can't run agents; use local or slurm.\n"
    assert ran.returncode == 1


def test_option_of_the_user_wins(tmp_path: Path) -> None:
    ran = _run(tmp_path, ["a"], "rollout.max_head_offpolicyness=4")

    assert _calls(ran)[0]["rollout"]["max_head_offpolicyness"] == "4"


def test_trial_names_differ_from_second_to_second() -> None:
    assert new_trial(0) != new_trial(1)
    assert new_trial(0).startswith("eagleray_1970")


def test_agent_is_written_as_areal_writes_it() -> None:
    assert areal_agent("my.agents:MyAgent", Path("/w")) == ("my.agents.MyAgent", Path("/w"))


def test_module_of_a_file_in_packages_has_their_names(tmp_path: Path) -> None:
    package = tmp_path / "agents" / "solving"
    package.mkdir(parents=True)
    assert areal_agent("agents/solving/agent.py:A", tmp_path) == ("agent.A", package)
    (package / "__init__.py").touch()
    assert areal_agent("agents/solving/agent.py:A", tmp_path) == (
        "solving.agent.A",
        tmp_path / "agents",
    )
    (package.parent / "__init__.py").touch()
    named = ("agents.solving.agent.A", tmp_path)
    assert areal_agent("agents/solving/agent.py:A", tmp_path) == named
    assert areal_agent(f"{package}/agent.py:A", Path("/elsewhere")) == named


def test_module_of_the_agent_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "my_agent.py").touch()
    [call] = [call for call in _calls(_run(tmp_path, ["a"])) if call["call"] == "rollout_batch"]
    assert call["origin"] == str(tmp_path / "my_agent.py")


def _run(folder: Path, items: list[str], *overrides: str) -> subprocess.CompletedProcess[str]:
    files = folder / "items.json", folder / "config.json"
    for file, content in zip(files, (items, CONFIG), strict=True):
        file.write_text(json.dumps(content))
    test = ArealTest(
        "my_agent.MyAgent", str(folder), files[0], len(items), files[1], "t-1", overrides
    )
    return subprocess.run(
        areal_command(sys.executable, test),
        env={**os.environ, "PYTHONPATH": str(FAKE)},
        capture_output=True,
        text=True,
        check=False,
    )


def _calls(ran: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
