"""Debug runs of slime, miles and SkyRL: what is set, removed and promised, for lines of the shapes of their examples."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.runs.presets.model import DebugRunProposal

from tests.runs.presets.checkouts import (
    TRAINERS,
    checkout,
    debug_run,
    plan_of,
    proposed,
    with_script,
)


def of_script(
    folder: Path, framework: str, version: str, script: str, **answers: str
) -> DebugRunProposal:
    checkout(folder, framework, version)
    (folder / "train.py").write_text(TRAINERS[framework])
    (folder / "run.sh").write_text(script)
    return debug_run(plan_of(folder, "bash", "run.sh"), **answers)


def outcomes(made: DebugRunProposal, option: str) -> dict[str, str]:
    """The outcomes of an option, by their keys."""
    return {change.key: change.outcome for change in made.changes if change.option == option}


def reasons(made: DebugRunProposal, option: str) -> str:
    return " ".join(change.why for change in made.changes if change.option == option)


def slime_example(folder: Path, model_args: str = "MODEL_ARGS=(--num-layers 4)") -> Path:
    checkout(folder, "slime", "0.3.1")
    script = with_script(folder, "slime.sh")
    (folder / "train.py").write_text(TRAINERS["slime"])
    (folder / "models").mkdir()
    (folder / "models" / "tiny.sh").write_text(model_args)
    return script


def test_options_are_removed_where_no_value_switches_slime_off(tmp_path: Path) -> None:
    """slime saves after the last rollout for any interval, and evaluates before the first one."""
    slime_example(tmp_path)
    made = debug_run(plan_of(tmp_path, "bash", "slime.sh"))
    lines = [line.strip() for line in made.plan.copy_text.splitlines()]
    assert lines[5:14] == [
        *("CKPT_ARGS=(", "--hf-checkpoint /models/tiny", "#--load /old"),
        *("--ref-load /models/tiny_dist", "", "--save /runs/tiny", "", ")", ""),
    ]
    assert "EVAL_ARGS=(  --eval-prompt-data aime /data/aime.jsonl)" in lines
    assert "--use-wandb" not in made.plan.copy_text
    appended = made.plan.copy_text.rpartition("${WANDB_ARGS[@]}")[2]
    assert "--num-rollout 2" in appended and "--start-rollout-id 0" in appended
    promised = "resume from no checkpoint, write no checkpoints, run no validation, report to no"
    assert promised in made.summary and "not verified" not in made.summary


def test_option_of_another_branch_is_removed(tmp_path: Path) -> None:
    """The last assignment of an array may be in the branch that isn't taken."""
    slime_example(tmp_path)
    made = proposed(plan_of(tmp_path, "bash", "slime.sh"), no_trackers="on")
    assert outcomes(made, "no_trackers")["--use-wandb"] == "will apply"
    assert "--use-wandb" not in made.plan.copy_text


@pytest.mark.parametrize(
    ("before", "words", "outcome"),
    [
        ("", "--colocate", "already so"),
        ("", "--colocate $EXTRA_ARGS", "set, effect not verified"),
        ("", "--sglang-cuda-graph-bs 1 $(seq 16 8 256) --lr $LR ${DATA}/a.jsonl", "already so"),
        ("", "$(cat options)", "set, effect not verified"),
        ("", "${NONE[@]}", "already so"),
        ("read -ra READ <<< `make_args`\n", "${READ[@]}", "set, effect not verified"),
        ("source /opt/lost/args.sh\n", "${LOST[@]}", "set, effect not verified"),
        (
            "LAST=(--lr 1)\nLAST=(--lr 2)\n",
            "--colocate ${LAST[@]} $MORE_OPTS",
            "set, effect not verified",
        ),
    ],
)
def test_option_that_a_word_may_hold_is_not_promised_away(
    tmp_path: Path, before: str, words: str, outcome: str
) -> None:
    script = f"{before}python3 train.py {words} --num-rollout 9\n"
    made = of_script(tmp_path, "slime", "0.3.1", script)
    assert outcomes(made, "no_trackers")["--use-wandb"] == outcome
    is_sure = outcome == "already so"
    assert ("may hold it" in reasons(made, "no_trackers")) is not is_sure
    assert ("not verified" in made.summary) is not is_sure


def test_option_in_a_script_that_is_read_is_not_promised_away(tmp_path: Path) -> None:
    slime_example(tmp_path, "MODEL_ARGS=(\n  --num-layers 4\n  --use-tensorboard\n)\n")
    made = proposed(plan_of(tmp_path, "bash", "slime.sh"), no_trackers="on")
    assert outcomes(made, "no_trackers")["--use-tensorboard"] == "set, effect not verified"
    assert "${MODEL_ARGS[@]} may hold it" in reasons(made, "no_trackers")


@pytest.mark.parametrize(
    ("version", "words", "outcome"),
    [
        ("0.3.1", "--ref-load /a", {"--load": "will apply"}),
        ("0.3.1", "--ref-load $REF", {"--load": "set, effect not verified"}),
        ("0.3.1", "--megatron-to-hf-mode bridge", {"--load": "not changed"}),
        ("0.3.0", "--megatron-to-hf-mode bridge", {"--load": "will apply"}),
        ("0.3.0", "", {"--load": "not changed"}),
    ],
)
def test_load_is_removed_if_the_first_weights_come_from_elsewhere(
    tmp_path: Path, version: str, words: str, outcome: dict[str, str]
) -> None:
    script = f"python3 train.py --load /runs/a {words} --num-rollout 9\n"
    made = of_script(tmp_path, "slime", version, script, no_resume="on")
    assert list(outcomes(made, "no_resume").values()) == list(outcome.values())


def test_file_that_may_set_it_again_is_named(tmp_path: Path) -> None:
    """slime and miles set what --custom-config-path holds after the line."""
    script = "python3 train.py --custom-config-path c.yaml --num-rollout 9 --save-interval 5\n"
    made = of_script(tmp_path, "miles", "0.1.0", script)
    assert outcomes(made, "steps")["--num-rollout"] == "set, effect not verified"
    assert "--custom-config-path may set it again" in reasons(made, "steps")
    assert outcomes(made, "no_checkpoint") == {"--save-interval": "set, effect not verified"}


def test_warm_up_is_as_short_as_the_run(tmp_path: Path) -> None:
    """Megatron refuses a warm-up that is as long as the run."""
    script = "python3 train.py --lr-warmup-iters 10 --num-rollout 9\n"
    made = of_script(tmp_path, "miles", "0.1.0", script)
    assert outcomes(made, "steps")["--lr-warmup-iters"] == "will apply"


def test_miles_keeps_an_evaluation_that_its_arguments_need(tmp_path: Path) -> None:
    line = "python3 train.py --eval-num-gpus 4 --eval-interval 5 --num-rollout 9\n"
    made = of_script(tmp_path, "miles", "0.1.0", line)
    assert outcomes(made, "no_validation") == {} and "validation" not in made.summary
    asked = of_script(tmp_path, "miles", "0.1.0", line, no_validation="on")
    assert list(outcomes(asked, "no_validation").values()) == ["not changed"]


def test_loop_of_another_program_is_not_shortened(tmp_path: Path) -> None:
    """The saves of another loop are unknown, so its keys are set without a promise or not at all."""
    own = "from slime.utils.arguments import parse_args\n\nparse_args()\n"
    checkout(tmp_path, "slime", "0.3.1")
    (tmp_path / "train.py").write_text(own)
    made = debug_run(plan_of(tmp_path, "python3", "train.py", "--num-rollout", "9"))
    assert "will stop" not in made.summary


@pytest.mark.parametrize(
    ("version", "steps"),
    [("0.3.0", {"trainer.max_training_steps": "will apply"}), ("0.2.0", {"": "no such option"})],
)
def test_skyrl_has_a_limit_for_steps_from_0_3(
    tmp_path: Path, version: str, steps: dict[str, str]
) -> None:
    script = (
        'uv run -m skyrl.train.entrypoints.main_base trainer.epochs=20 trainer.logger="$L" $@\n'
    )
    made = of_script(tmp_path, "skyrl", version, script, steps="2")
    assert outcomes(made, "steps") == steps
    assert outcomes(made, "no_checkpoint") == {
        "trainer.ckpt_interval": "will apply",
        "trainer.hf_save_interval": "will apply",
    }
    assert "trainer.eval_interval=-1" in made.plan.overrides
    assert "trainer.logger=console" in made.plan.overrides


def test_program_that_trains_instead_gets_no_promise(tmp_path: Path) -> None:
    line = "python3 -m skyrl.train.entrypoints.main_base trainer.override_entrypoint=own.main\n"
    made = of_script(tmp_path, "skyrl", "0.3.0", line)
    assert outcomes(made, "steps") == {"trainer.max_training_steps": "set, effect not verified"}
    assert "will write" not in made.summary


def test_recipe_with_the_name_of_another_framework_is_its_own(tmp_path: Path) -> None:
    """SkyRL's examples have a `dapo.main_dapo`, as verl's recipes do."""
    (tmp_path / "examples" / "dapo").mkdir(parents=True)
    (tmp_path / "examples" / "dapo" / "main_dapo.py").write_text(TRAINERS["skyrl"])
    line = "python3 -m examples.dapo.main_dapo trainer.epochs=1\n"
    made = of_script(tmp_path, "skyrl", "0.3.0", line)
    assert made.framework == "SkyRL"
    assert outcomes(made, "steps") == {"trainer.max_training_steps": "set, effect not verified"}


def test_unread_version_of_slime_gets_what_its_code_declares(tmp_path: Path) -> None:
    arguments = tmp_path / "slime" / "utils" / "arguments.py"
    arguments.parent.mkdir(parents=True)
    arguments.write_text(
        "import argparse\n\n\ndef parse_args():\n    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--num-rollout', type=int)\n    return parser.parse_args()\n"
    )
    made = of_script(tmp_path, "slime", "0.9.0", "python3 train.py --num-rollout 9\n")
    assert outcomes(made, "steps") == {"--num-rollout": "set, effect not verified"}
    assert "slime/utils/arguments.py:6" in reasons(made, "steps")


def test_program_that_makes_the_command_itself_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "run_tiny.py").write_text(
        "import miles.utils.external_utils.command_utils as U\n\nU.execute_train(train_args='--num-rollout 9')\n"
    )
    made = debug_run(plan_of(tmp_path, "python3", "run_tiny.py"))
    assert "run_tiny.py makes the command of the trainer itself." in made.summary
    assert "knows no trainer" not in made.summary
    assert "Start Ray yourself, and set MILES_SCRIPT_EXTERNAL_RAY=1." in made.summary


def test_program_in_a_quoted_text_is_named_with_its_line(tmp_path: Path) -> None:
    line = 'srun bash -c "python3 train.py --num-rollout 9"\n'
    made = of_script(tmp_path, "miles", "0.1.0", f"echo 'python3 train.py starts'\n{line}")
    assert made.summary.startswith("The program is in a quoted text (line 2).")
    made = of_script(tmp_path, "miles", "0.1.0", "echo 'python3 train.py starts'\n./other\n")
    assert made.summary.startswith("No framework was recognised")
