"""Requests and their outcomes, one row per case; an unknown version or framework is reported, not guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.runs.presets.analysis import ProgramAnalysis
from eagleray.runs.presets.framework_table_file import tables
from eagleray.runs.presets.model import DebugRunProposal
from eagleray.runs.presets.proposal_text import setting_of
from eagleray.runs.presets.propose import propose
from eagleray.runs.presets.recognition import DetectedVersion, Recognised
from eagleray.runs.presets.user_presets import Preset

from tests.runs.presets.checkouts import (
    AREAL,
    ENV,
    OPENRLHF,
    VERL,
    debug_run,
    folder_of,
    plan_of,
    proposed,
    read,
    with_script,
)

# framework, version, command, answers, the words that are put behind it
COMMANDS: list[tuple[str, str, tuple[str, ...], dict[str, str], list[str]]] = [
    ("verl", "0.7.0", VERL, {"steps": "3"}, ["++trainer.total_training_steps=3"]),
    ("verl", "0.7.0", VERL, {"no_resume": "on"}, ["++trainer.resume_mode=disable"]),
    ("verl", "0.7.0", VERL, {"no_trackers": "on"}, ["++trainer.logger=[console]"]),
    (
        *("verl", "0.6.0", VERL, {"replay": "/data/a b"}),
        [
            "++actor_rollout_ref.rollout.skip_rollout=true",
            "++actor_rollout_ref.rollout.skip_dump_dir='/data/a b'",
        ],
    ),
    ("verl", "0.5.0", VERL, {"timeouts": "60"}, []),
    ("verl", "0.6.0", VERL, {"timeouts": "60"}, ["++actor_rollout_ref.nccl_timeout=60"]),
    (
        *("nemo_rl", "0.5.0", ("uv", "run", "run_sft.py"), {"no_validation": "on"}),
        ["++sft.val_period=0", "++sft.val_at_start=false"],
    ),
    (
        *("nemo_rl", "0.6.0", ("uv", "run", "run_grpo.py"), {"no_validation": "on"}),
        ["++grpo.val_period=0", "++grpo.val_at_start=false", "++grpo.val_at_end=false"],
    ),
    (
        # It resumes from its folder of checkpoints even if it saves none.
        *("nemo_rl", "0.7.0", ("uv", "run", "run_grpo.py"), {"no_resume": "on"}),
        ["++checkpointing.checkpoint_dir=results/debug-1121-183000"],
    ),
    ("areal", "1.0.2", AREAL, {"name": "mine"}, ["++trial_name=mine"]),
    ("rlinf", "0.2.0", ("python3", "train.py"), {"steps": "2"}, ["++runner.max_steps=2"]),
    (
        *("openrlhf", "0.11.0", (*OPENRLHF, "--rollout.batch_size", "64"), {"gpus": "2"}),
        ["--actor.num_nodes", "1", "--actor.num_gpus_per_node", "2"],
    ),
    ("openrlhf", "0.9.0", OPENRLHF, {"no_checkpoint": "on"}, ["--save_steps", "-1"]),
    ("openrlhf", "0.11.0", OPENRLHF, {"no_trackers": "on", "no_resume": "on"}, []),
]


@pytest.mark.parametrize(("framework", "version", "argv", "answers", "arguments"), COMMANDS)
def test_command_is_recognised(
    tmp_path: Path,
    framework: str,
    version: str,
    argv: tuple[str, ...],
    answers: dict[str, str],
    arguments: list[str],
) -> None:
    folder = folder_of(tmp_path, framework, version)
    made = proposed(plan_of(folder, *argv, kind="program"), **answers)
    assert list(made.plan.overrides) == arguments
    assert made.plan.argv == argv and made.plan.copy_text == ""


@pytest.mark.parametrize(
    ("framework", "version", "argv", "answers", "name"),
    [
        ("verl", "0.9.0", VERL, {"replay": "/data/my rollouts/"}, "debug-my-rollouts"),
        ("verl", "0.9.0", VERL, {"replay": "/data/r", "name": "mine"}, "mine"),
        ("verl", "0.9.0", VERL, {"replay": ""}, "debug-1121-183000"),
        ("verl", "0.7.1", VERL, {"replay": "/data/rollouts"}, "debug-1121-183000"),
        # AReaL forbids "-" in the names of trials.
        ("areal", "1.0.2", AREAL, {}, "debug_1121_183000"),
    ],
)
def test_debug_runs_have_a_new_name_unless_saved_rollouts_depend_on_it(
    tmp_path: Path,
    framework: str,
    version: str,
    argv: tuple[str, ...],
    answers: dict[str, str],
    name: str,
) -> None:
    """From verl 0.9 on a folder of rollouts has one for each experiment, so that a new name would find none."""
    plan = plan_of(folder_of(tmp_path, framework, version), *argv, kind="program")
    made = debug_run(plan, **answers)
    [question] = [each for each in made.questions if each.id == "name"]
    assert question.value == name
    assert any(change.option == "name" and name in change.where for change in made.changes)


def outcomes(made: DebugRunProposal) -> dict[str, str]:
    return {change.where.partition(" (")[0]: change.outcome for change in made.changes}


def test_setting_in_effect_is_not_repeated(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "0.7.0")
    argv = (*VERL, "trainer.save_freq=-1", "trainer.logger=['console']", "trainer.test_freq=5")
    made = proposed(
        plan_of(folder, *argv, kind="program"),
        no_checkpoint="on",
        no_trackers="on",
        no_validation="on",
    )
    assert outcomes(made) == {
        "trainer.save_freq=-1": "already so",
        "trainer.logger=['console']": "already so",
        "++trainer.val_before_train=false": "will apply",
        "++trainer.test_freq=-1": "will apply",
    }
    settings = [setting_of(change) for change in made.changes if change.option == "no_validation"]
    assert settings == ["trainer.val_before_train = false", "trainer.test_freq = 5 -> -1"]


def test_arguments_behind_the_script_count_as_set(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "0.7.0")
    with_script(folder, "verl_quoted.sh")
    plan = plan_of(folder, "bash", "verl_quoted.sh", "trainer.test_freq=-1")
    made = proposed(plan, no_validation="on")
    assert made.plan.overrides == ("++trainer.val_before_train=false",)


def test_unknown_version_gets_no_claims(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "1.5.0")
    made = debug_run(plan_of(folder, *VERL, kind="program"))
    assert {
        question.id: question.value for question in made.questions if question.id != "post_mortem"
    } == {
        **dict.fromkeys(("steps", "name", "gpus", "replay"), ""),
        **dict.fromkeys(("no_resume", "no_checkpoint", "no_validation"), "off"),
        **dict.fromkeys(("no_trackers", "hang_details", "not_compiled"), "off"),
    }
    assert made.plan.overrides == () and made.framework_version == "1.5.0"
    assert made.changes[0].why.startswith("Eagleray's settings for verl were checked in 0.6.0 to")
    assert "Written for verl 0.6.0 to 0.10.0.dev; yours is 1.5.0." in made.questions[0].detail
    answered = proposed(plan_of(folder, *VERL, kind="program"), steps="2")
    assert [change.outcome for change in answered.changes] == [
        "unknown version",
        "set, effect not verified",
    ]
    assert answered.plan.overrides == ("++trainer.total_training_steps=2",)


def test_missing_version_is_unknown(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "")
    (change, _) = debug_run(plan_of(folder, *VERL, kind="program")).changes
    assert change.request == "Which verl this is"
    assert "No version was found in verl/version/version of the checkout" in change.why


def test_unknown_framework_is_reported(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import ray\n")
    made = debug_run(plan_of(tmp_path, "python3", "train.py", kind="program"))
    assert [(change.request, change.outcome) for change in made.changes] == [
        ("Debug run", "no framework"),
        ("Break on Failure", "will apply"),
    ]
    assert [question.id for question in made.questions] == [
        "hang_details",
        "not_compiled",
        "post_mortem",
    ]
    assert made.plan.post_mortem and made.plan.overrides == ()


def test_missing_option_is_reported_only_if_requested(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "nemo_rl", "0.6.0")
    plan = plan_of(folder, "uv", "run", "run_grpo.py", kind="program")
    assert {change.outcome for change in debug_run(plan).changes} == {"will apply"}
    made = debug_run(plan, timeouts="60")
    missing = [
        (change.request, change.why)
        for change in made.changes
        if change.outcome == "no such option"
    ]
    assert missing == [
        (
            "Longer collective timeouts",
            "NeMo RL sets no time-out of its own. No key or variable lengthens that of torch.",
        )
    ]


def test_option_without_a_framework_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import ray\n")
    made = debug_run(plan_of(tmp_path, "python3", "train.py", kind="program"), steps="2")
    assert [(change.request, change.outcome) for change in made.changes] == [
        ("Debug run", "no framework"),
        ("Few steps", "not changed"),
        ("Break on Failure", "will apply"),
    ]


def test_program_in_a_quoted_text_is_reported(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "openrlhf", "0.11.0")
    with_script(folder, "quoted.sh")
    made = proposed(
        plan_of(folder, "sbatch", "quoted.sh", kind="sbatch"),
        steps="64",
        no_resume="on",
        no_trackers="on",
    )
    assert {change.outcome for change in made.changes} == {"not changed"}
    assert made.changes[0].why == "The program is in a quoted text (line 3)."
    assert made.plan.copy_text == "" and made.plan.overrides == ()


def test_flag_in_an_array_is_removed_from_the_copy(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "openrlhf", "0.11.0")
    script = with_script(folder, "openrlhf.sh")
    made = proposed(plan_of(folder, "bash", "openrlhf.sh"), no_resume="on")
    assert made.changes[-1].where.startswith("without --ckpt.load_enable")
    assert made.plan.copy_text == script.read_text().replace("--ckpt.load_enable", "")


def test_flag_in_an_array_of_two_lines_is_named_with_its_line(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "openrlhf", "0.11.0")
    script = with_script(folder, "openrlhf.sh")
    script.write_text(script.read_text() + 'echo "${CKPT_ARGS[@]}" > args.txt\n')
    (change,) = proposed(plan_of(folder, "bash", "openrlhf.sh"), no_resume="on").changes
    assert change.outcome == "not changed"
    assert change.where == "--ckpt.load_enable (line 8 of openrlhf.sh)"


def test_steps_of_openrlhf_become_prompts_of_whole_batches(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "openrlhf", "0.11.0")
    with_script(folder, "openrlhf.sh")
    made = debug_run(plan_of(folder, "bash", "openrlhf.sh"), steps="3")
    assert "--data.max_samples 384" in made.changes[1].where
    assert made.changes[1].outcome == "will apply"


def test_ineffective_variable_is_reported(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "0.7.0")
    with_script(folder, "verl_quoted.sh")
    (change,) = proposed(plan_of(folder, "bash", "verl_quoted.sh")).changes
    assert (change.request, change.where) == (
        *("NCCL_TIMEOUT, which you set", "line 3 of verl_quoted.sh"),
    )


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"steps": "two"}, "whole number"),
        ({"steps": "0"}, "whole number"),
        ({"steps": "-1"}, "whole number"),
        ({"steps": "9" * 12}, "whole number"),
        ({"no_resume": "yes"}, "neither"),
        ({"replay": "rollouts"}, "whole path"),
        ({"name": "../x"}, "path"),
        ({"name": "a\nb"}, "control character"),
        ({"name": "${oc.env:HOME}"}, r"\$\{"),
    ],
)
def test_wrong_answers(tmp_path: Path, answers: dict[str, str], why: str) -> None:
    folder = folder_of(tmp_path, "verl", "0.7.1")
    with pytest.raises(EaglerayError, match=why):
        proposed(plan_of(folder, *VERL, kind="program"), **answers)


def test_answers_take_precedence_over_an_own_preset(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "0.7.0")
    plan = plan_of(folder, *VERL, kind="program", env={"KEPT": "1"})
    preset = Preset("mine", "NeMo RL", {"steps": "9"}, ("data.train_batch_size=8",), {"A": "x"})
    off = {
        question.id: "off"
        for question in propose(plan, read(plan), {}).questions
        if question.id != "steps"
    }
    made = propose(plan, read(plan), off, preset)
    assert made.plan.overrides == (
        *("++trainer.total_training_steps=9", f"{ENV}.A='x'", "data.train_batch_size=8"),
    )
    assert made.changes[0].why == "It was made for NeMo RL; this is verl."
    again = propose(plan, read(plan), {**off, "steps": "1"}, preset)
    assert again.plan.overrides[0] == "++trainer.total_training_steps=1"


SECRETS = ["abc123secret", "s3cr3t", "hunter2"]


@pytest.mark.parametrize("name", ["verl_quoted.sh", "openrlhf.sh"])
def test_no_secret_is_shown(tmp_path: Path, name: str) -> None:
    framework = name.partition("_")[0].removesuffix(".sh")
    folder = folder_of(tmp_path, framework, {"verl": "0.7.0", "openrlhf": "0.11.0"}[framework])
    with_script(folder, name)
    more = ("--logger.wandb.key", "hunter2") if framework == "openrlhf" else ("api_key=hunter2",)
    plan = plan_of(folder, "bash", name, *more, env={"HF_TOKEN": "hunter2"})
    made = proposed(plan, no_trackers="on", name="two words", no_checkpoint="on")
    text = repr((made.before, made.after, made.changes, made.questions, made.title))
    assert made.changes and not [secret for secret in SECRETS if secret in text]


def test_every_option_of_every_table_can_be_requested(tmp_path: Path) -> None:
    """Also those that no case above has: words come out, for each entry one."""
    values: dict[str, Any] = {"number": "2", "text": "mine", "folder": "/data", "tick": "on"}
    count = 0
    for table in tables():
        for name, offer in table.offers.items():
            folder = folder_of(tmp_path, table.package, table.versions.last)
            target = "run_grpo.py" if table.sections else "train.py"
            plan = plan_of(folder, "python3", target, kind="program")
            analysis = read(plan)
            section = "grpo" if table.sections else ""
            recognised = Recognised(table, DetectedVersion(table.versions.last, ""), section)
            forced = ProgramAnalysis(analysis.launch, recognised, stamp="s")
            off = {question.id: "off" for question in propose(plan, forced, {}).questions}
            made = propose(plan, forced, {**off, name: values[offer.kind]})
            entries = [entry for entry in offer.entries if not (entry.present_only or entry.when)]
            keys = [entry.key for entry in entries if entry.check(table.versions.last)]
            arguments = " ".join(made.plan.overrides)
            assert all(key.replace("{section}", section) in arguments for key in keys)
            count += 1
    assert count > 40


def test_run_without_torch_compile_sets_its_variable(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "0.7.0")
    made = proposed(plan_of(folder, *VERL, kind="program"), not_compiled="on")
    assert ["TORCH_COMPILE_DISABLE" in str(change) for change in made.changes] == [True]
    assert "TORCH_COMPILE_DISABLE" in str(made.after)
