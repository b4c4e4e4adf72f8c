"""The keys of an option depend on the version, the program and the other keys of the line: one row per case."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.runs.presets.model import DebugRunProposal

from tests.runs.presets.checkouts import (
    NEMO_TRAINER,
    OPENRLHF,
    TRAINERS,
    VERL,
    debug_run,
    folder_of,
    plan_of,
    proposed,
)

SKIP = "++actor_rollout_ref.rollout.skip"
TIMEOUT = "++actor_rollout_ref.nccl_timeout=60"
MEGATRON = "--config-name=ppo_megatron_trainer.yaml"
TEN = "[1,2,3,4,5,6,7,8,9,10]"
PPO = ("python3", "-m", "openrlhf.cli.train_ppo_ray")


def program(
    tmp_path: Path, framework: str, version: str, *argv: str, **answers: str
) -> DebugRunProposal:
    folder = folder_of(tmp_path, framework, version)
    return proposed(plan_of(folder, *argv, kind="program"), **answers)


def outcomes(made: DebugRunProposal) -> set[str]:
    return {change.outcome for change in made.changes}


# version of verl, words of the line, answers, the words that are added
VERL_ROWS: list[tuple[str, tuple[str, ...], dict[str, str], list[str]]] = [
    # Megatron-Core refuses a warm-up that is as long as the run.
    *[
        (
            version,
            ("actor_rollout_ref.actor.optim.lr_warmup_steps=10",),
            {"steps": "2"},
            [
                "++trainer.total_training_steps=2",
                "++actor_rollout_ref.actor.optim.lr_warmup_steps=0",
            ],
        )
        for version in ("0.4.1", "0.7.1", "0.9.0")
    ],
    (
        "0.7.1",
        ("actor_rollout_ref.actor.optim.lr_warmup_steps=0", "critic.optim.lr_warmup_steps=5"),
        {"steps": "2"},
        ["++trainer.total_training_steps=2", "++critic.optim.lr_warmup_steps=0"],
    ),
    # A run that only validates does so before the first step.
    ("0.7.1", ("trainer.val_only=True",), {"no_validation": "on"}, ["++trainer.test_freq=-1"]),
    ("0.7.1", ("trainer.val_only=True",), {"steps": "2"}, []),
    # Which workers read a time-out.
    ("0.4.0", (MEGATRON,), {"timeouts": "60"}, []),
    ("0.5.0", (), {"timeouts": "60"}, []),
    ("0.5.0", (MEGATRON,), {"timeouts": "60"}, [TIMEOUT]),
    ("0.5.0", ("actor_rollout_ref.actor.strategy=megatron",), {"timeouts": "60"}, [TIMEOUT]),
    ("0.7.1", (), {"timeouts": "60"}, [TIMEOUT]),
    ("0.7.1", (MEGATRON,), {"timeouts": "60"}, [TIMEOUT, "++critic.nccl_timeout=60"]),
    ("0.7.1", (MEGATRON, "algorithm.adv_estimator=grpo"), {"timeouts": "60"}, [TIMEOUT]),
    *[
        ("0.7.1", (*arguments, "trainer.use_legacy_worker_impl=disable"), {"timeouts": "60"}, [])
        for arguments in ((), (MEGATRON,))
    ],
    ("0.8.0", (), {"timeouts": "60"}, []),
    ("0.9.0", (), {"timeouts": "60"}, []),
    # Which trainers use saved rollouts, and by which keys.
    ("0.6.1", (), {"replay": "/r"}, [f"{SKIP}_rollout=true", f"{SKIP}_dump_dir='/r'"]),
    ("0.6.1", ("actor_rollout_ref.rollout.mode=async",), {"replay": "/r"}, []),
    ("0.7.0", (), {"replay": "/r"}, []),
    ("0.7.1", (), {"replay": "/r"}, [f"{SKIP}_rollout=true", f"{SKIP}_dump_dir='/r'"]),
    ("0.8.0.dev", (), {"replay": "/r"}, []),
    ("0.8.0", (), {"replay": "/r"}, [f"{SKIP}.enable=true", f"{SKIP}.dump_dir='/r'"]),
    *[
        (
            "0.9.0",
            arguments,
            {"replay": "/r"},
            [
                f"++skip.{name}.enable=true",
                f"++skip.{name}.dump_dir='/r'",
                f"++skip.{name}.steps={TEN}",
            ],
        )
        for arguments, name in (((), "rollout_tq"), (("trainer.use_v1=False",), "rollout"))
    ],
]


@pytest.mark.parametrize(("version", "arguments", "answers", "added"), VERL_ROWS)
def test_verl(
    tmp_path: Path,
    version: str,
    arguments: tuple[str, ...],
    answers: dict[str, str],
    added: list[str],
) -> None:
    made = program(tmp_path, "verl", version, *VERL, *arguments, **answers)
    assert [word.replace("=/r", "='/r'") for word in made.plan.overrides] == added


def test_archer_fork_gets_the_whole_proposal(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "0.4.0.dev")
    made = debug_run(plan_of(folder, "python3", "-m", "dapo.main_dapo", kind="program"))
    assert outcomes(made) == {"will apply"}
    assert len(made.plan.overrides) == 7


def test_release_that_calls_itself_a_development_version_is_recognised(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "0.8.0.dev")
    plan = plan_of(folder, *VERL, kind="program")
    assert debug_run(plan).framework_version == "0.8.0.dev"
    config = folder / "verl" / "workers" / "config" / "rollout.py"
    config.parent.mkdir(parents=True)
    config.write_text("class SkipConfig(Base):\n    enable = False\n")
    made = proposed(plan, replay="/r")
    assert made.framework_version == "0.8.0"
    assert f"{SKIP}.enable=true" in made.plan.overrides


@pytest.mark.parametrize(
    ("version", "arguments", "outcome"),
    [
        ("0.6.1", ("actor_rollout_ref.rollout.mode=async",), "not changed"),
        ("0.6.1", ('actor_rollout_ref.rollout.mode="$MODE"',), "set, effect not verified"),
        ("0.7.0", (), "no such option"),
        ("0.7.1", (), "will apply"),
        # A version between those that were read.
        ("0.7.2", (), "set, effect not verified"),
    ],
)
def test_will_apply_is_reported_only_for_verified_effects(
    tmp_path: Path, version: str, arguments: tuple[str, ...], outcome: str
) -> None:
    folder = folder_of(tmp_path, "verl", version)
    line = " ".join(word.replace('"', "") for word in arguments)
    (folder / "run.sh").write_text(f'python3 -m verl.trainer.main_ppo {line} "$@"\n')
    # 0.7.2 has the keys of 0.7.1, the newest version below it.
    assert outcomes(proposed(plan_of(folder, "bash", "run.sh"), replay="/r")) == {outcome}


def test_time_outs_are_not_proposed_where_no_worker_reads_them(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "0.7.1")
    line = ("trainer.use_legacy_worker_impl=disable",)
    made = debug_run(plan_of(folder, *VERL, *line, kind="program"))
    assert not [change for change in made.changes if "time-outs" in change.request]
    answered = proposed(plan_of(folder, *VERL, *line, kind="program"), timeouts="60")
    assert outcomes(answered) == {"not changed"}


# version of OpenRLHF, words of the line, answers, the words that are added
OPENRLHF_ROWS: list[tuple[str, tuple[str, ...], dict[str, str], list[str]]] = [
    ("0.8.9", ("--rollout_batch_size", "64"), {"steps": "5"}, ["--max_samples", "320"]),
    ("0.8.9", (), {"steps": "2"}, ["--max_samples", "2048"]),
    ("0.11.0", ("--rollout.batch_size", "8"), {"steps": "2"}, ["--data.max_samples", "16"]),
    # Releases between two tables and below all of them get no word of the newest one.
    ("0.10.1.post2", (), {"steps": "1"}, ["--max_samples", "1024"]),
    ("0.10.1.post9", (), {"steps": "1"}, ["--max_samples", "1024"]),
    ("0.7.5", (), {"steps": "1"}, ["--max_samples", "1024"]),
    # -1 meant once per epoch.
    ("0.8.0", (), {"no_validation": "on"}, ["--eval_steps", "1000000000"]),
    ("0.8.1", (), {"no_validation": "on"}, ["--eval_steps", "-1"]),
]


@pytest.mark.parametrize(("version", "arguments", "answers", "added"), OPENRLHF_ROWS)
def test_openrlhf(
    tmp_path: Path,
    version: str,
    arguments: tuple[str, ...],
    answers: dict[str, str],
    added: list[str],
) -> None:
    made = program(tmp_path, "openrlhf", version, *OPENRLHF, *arguments, **answers)
    assert list(made.plan.overrides[: len(added)]) == added


def test_number_of_prompts_is_assumed_where_the_batch_is_unknown(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "openrlhf", "0.9.0")
    (folder / "run.sh").write_text(f'{" ".join(PPO)} --rollout_batch_size "$(nproc)" "$@"\n')
    made = proposed(plan_of(folder, "bash", "run.sh"), steps="2")
    assert made.changes[0].outcome == "set, effect not verified"
    why = made.changes[0].why
    assert why.startswith("The value of --rollout_batch_size is not known; 1024 is assumed.")


@pytest.mark.parametrize(
    ("version", "name", "added"),
    [
        # An online run divides its steps by its epochs.
        ("1.0.4", "train.py", ["++total_train_steps=2", "++total_train_epochs=2"]),
        ("2.0.0", "train_rw.py", ["++total_train_steps=2", "++total_train_epochs=2"]),
        ("1.0.2", "train.py", ["++total_train_steps=2", "++total_train_epochs=2"]),
        # Its reward model example counted epochs only.
        ("1.0.2", "hhrlhf_rw.py", ["++total_train_epochs=1"]),
    ],
)
def test_areal(tmp_path: Path, version: str, name: str, added: list[str]) -> None:
    folder = folder_of(tmp_path, "areal", version)
    (folder / name).write_text(TRAINERS["areal"])
    plan = plan_of(folder, "python3", name, "--config", "c.yaml", kind="program")
    assert list(proposed(plan, steps="2").plan.overrides) == added


def test_nothing_is_promised_without_the_configuration_file(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "areal", "1.0.4")
    (folder / "train.py").write_text(TRAINERS["areal"])
    plan = plan_of(folder, "python3", "train.py", "--config", "own/c.yaml", kind="program")
    made = proposed(plan, steps="2")
    assert "own/c.yaml isn't in this checkout: what it sets is unknown." in made.summary
    assert {change.outcome for change in made.changes if change.option == "steps"} == {
        "set, effect not verified"
    }
    (folder / "own").mkdir()
    (folder / "own" / "c.yaml").write_text("total_train_epochs: 5\n")
    assert {
        change.outcome for change in proposed(plan, steps="2").changes if change.option == "steps"
    } == {"will apply"}


SCHEDULER = """\
policy:
  megatron_cfg:
    enabled: true
    scheduler:
      lr_decay_iters: {decay}
      lr_warmup_iters: 10
  scheduler:
    lr_decay_iters: null
"""


@pytest.mark.parametrize(
    ("decay", "added"),
    [
        ("null", ["++grpo.max_num_steps=2", "++policy.megatron_cfg.scheduler.lr_warmup_iters=0"]),
        ("1000  # all of it", ["++grpo.max_num_steps=2"]),
    ],
)
def test_warm_up_of_nemo_rl_is_not_longer_than_the_run(
    tmp_path: Path, decay: str, added: list[str]
) -> None:
    folder = folder_of(tmp_path, "nemo_rl", "0.5.0")
    (folder / "g.yaml").write_text(SCHEDULER.format(decay=decay))
    plan = plan_of(folder, "uv", "run", "run_grpo.py", "--config", "g.yaml", kind="program")
    assert list(proposed(plan, steps="2").plan.overrides) == added


@pytest.mark.parametrize("name", ["distillation", "rm", "ppo"])
def test_other_trainers_of_nemo_rl_have_their_own_section(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path, "nemo_rl", "0.7.0")
    (folder / f"run_{name}.py").write_text(NEMO_TRAINER.format(section=name))
    made = debug_run(plan_of(folder, "uv", "run", f"run_{name}.py", kind="program"))
    assert f"++{name}.max_num_steps=2" in made.plan.overrides
    assert outcomes(made) == {"will apply"}


def test_main_branch_of_nemo_rl_is_recognised_by_its_files(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "nemo_rl", "0.6.0")
    (folder / "nemo_rl" / "algorithms").mkdir(parents=True)
    (folder / "nemo_rl" / "algorithms" / "single_controller.py").write_text("import ray\n")
    made = debug_run(plan_of(folder, "uv", "run", "run_grpo.py", kind="program"))
    assert made.framework_version == "0.8.0.dev"
    assert outcomes(made) == {"will apply"}
