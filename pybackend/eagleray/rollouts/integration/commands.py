"""The command lines of integration tests: what starts some rollouts in a framework, and nothing of a training."""

from __future__ import annotations

import time
from pathlib import Path

from attrs import frozen

from eagleray.runs.presets.overrides import hydra_override

SCRIPT = Path(__file__).parents[2] / "remote" / "scripts" / "areal_rollouts.py"
# A rollout that waits for a training step, which never comes, would wait for ever (AReaL, best practices for debugging).
_NO_STALENESS = 1_000_000


@frozen
class ArealTest:
    """An integration test of an agent with AReaL.

    `agent` is `module.Class`, `items` the JSON file with the data items, `config` the training's own configuration.
    `folder` is where its module is imported from.  `overrides` are further options of AReaL, which win over ours.
    """

    agent: str
    folder: str
    items: Path
    item_count: int
    config: Path
    trial: str
    overrides: tuple[str, ...] = ()


def areal_command(python: str, test: ArealTest) -> tuple[str, ...]:
    """Returns the command that runs the test; the trial has a name of its own, since one that exists may have servers
    that are gone.
    """
    settings = (
        ("scheduler.type", "local"),
        ("trial_name", test.trial),
        ("rollout.max_head_offpolicyness", str(_NO_STALENESS)),
        ("rollout.max_concurrent_rollouts", str(max(1, test.item_count))),
        ("rollout.enable_rollout_tracing", "true"),
        ("rollout.check_trajectory_format", "true"),
    )
    return (
        python,
        str(SCRIPT),
        "--agent",
        test.agent,
        "--folder",
        test.folder,
        "--items",
        str(test.items),
        "--config",
        str(test.config),
        *(hydra_override(key, value) for key, value in settings),
        *(_accepted(override) for override in test.overrides),
    )


def new_trial(at: float | None = None) -> str:
    """A name that no other trial has; AReaL's have no `-`."""
    return time.strftime("eagleray_%Y%m%d_%H%M%S", time.localtime(at))


def _accepted(override: str) -> str:
    """With `++`, unless the user wrote how Hydra takes it: a configuration has only what differs from AReaL's defaults.

    AReaL still rejects keys that it doesn't have.
    """
    return f"++{override}" if override[:1].isalpha() else override


def areal_agent(written: str, cwd: Path) -> tuple[str, Path]:
    """`module:Class` or `FILE.py:Class` as AReaL writes it, `module.Class`, and the folder to import it from.

    The module of a file in packages has their names; modules are imported from the folder of the command.
    """
    module, _, name = written.rpartition(":")
    if not module.endswith(".py"):
        return written.replace(":", "."), cwd
    file = cwd / module
    names, folder = [file.stem], file.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join([*names, name]), folder
