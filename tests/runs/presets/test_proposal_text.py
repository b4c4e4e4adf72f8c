"""The text of a debug run: its summary, its sections, and lines that fit the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.cli.runs.proposal_text import print_proposal
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.model import DebugRunProposal, ProposedChange
from eagleray.runs.presets.proposal_text import lines_of, setting_of

from tests.runs.presets.checkouts import checkout, debug_run, plan_of, proposed, with_script

LONG = "/data/" + "x" * 200 + "/end"


def proposal(
    *changes: ProposedChange, before: str = "", after: str = "", summary: str = ""
) -> DebugRunProposal:
    plan = RunPlan(kind="script", argv=("bash", "run.sh"), cwd="/w", name="run")
    return DebugRunProposal(
        plan=plan,
        before=before,
        after=after,
        changes=changes,
        framework="verl",
        framework_version="0.7.1",
        summary=summary,
    )


CHANGES = (
    ProposedChange(
        "No trackers", "already so", "", key="trainer.logger", value="[console]", place="line 3"
    ),
    ProposedChange("Few steps: 2", "will apply", "", key="trainer.steps", value=f"{LONG} -> 2"),
    ProposedChange("Few steps: 2", "will apply", "", "A reason. " * 30, key="a.b", value='""'),
    ProposedChange("Few steps: 2", "will apply", "", "A reason. " * 30, key="c", value="1"),
    ProposedChange("Saved rollouts: x", "not changed", "nowhere at all", "Set it yourself."),
    ProposedChange("Fewer GPUs", "no such option", "", "It has none."),
)


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("details", [False, True])
def test_lines_fit_the_terminal(columns: int, details: bool) -> None:
    lines = lines_of(proposal(*CHANGES, summary="A word " * 60), columns, details)
    assert all(len(line) <= columns for line in lines)
    assert any("/data/xxx" in line for line in lines)


def test_changes_precede_problems() -> None:
    titles = [line for line in lines_of(proposal(*CHANGES)) if line and not line.startswith(" ")]
    assert titles == ["Will apply", "Not changed", "No such option", "Already so"]


def test_long_values_are_shortened_in_the_middle_unless_details_are_wanted() -> None:
    short, whole = setting_of(CHANGES[1]), setting_of(CHANGES[1], details=True)
    assert short.startswith("trainer.steps = /data/xxx") and short.endswith("xxx/end -> 2")
    assert "…" in short and whole == f"trainer.steps = {LONG} -> 2"


def test_settings_of_a_problem_have_their_line_and_no_script_path(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "openrlhf", "0.11.0")
    script = with_script(folder, "openrlhf.sh")
    script.write_text(script.read_text() + 'printf %s "${CKPT_ARGS[@]}"\n')
    text = "\n".join(lines_of(proposed(plan_of(folder, "bash", "openrlhf.sh"), no_resume="on")))
    assert "--ckpt.load_enable (line 8)\n" in text and "openrlhf.sh" not in text


def test_equal_labels_and_reasons_are_shown_once() -> None:
    text = " ".join(" ".join(lines_of(proposal(*CHANGES))).split())
    assert text.count("Few steps") == 1 and text.count("A reason.") == 30
    assert 'a.b = ""' in text and "trainer.logger = [console] (line 3)" in text


def test_printed_diff_fits_and_keeps_changed_lines_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    context, added = f"context {LONG}", f"    {LONG} word"
    made = proposal(before=f"{context}\n", after=f"{context}\n{added}\n")
    print_proposal(made)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 100 for line in lines)
    changed = [line for line in lines if line.startswith("+   ")]
    assert len(changed) == 3 and changed[0].startswith("+    /data/x")
    assert "".join(line[1:].strip() for line in changed).endswith("/end word")
    assert lines[-1] == "--details shows shortened lines and values in full."
    print_proposal(made, details=True)
    assert "--details" not in capsys.readouterr().out


def test_summary_lists_actions_and_leftovers_of_the_run(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "openrlhf", "0.11.0")
    with_script(folder, "openrlhf.sh")
    made = debug_run(plan_of(folder, "bash", "openrlhf.sh"), name="mine")
    assert made.summary.startswith("This debug run of OpenRLHF 0.11.0 will stop after 2 steps, ")
    assert "start without a checkpoint" not in made.summary
    assert made.summary.endswith("It leaves behind the final model (./ckpt/mine-model).")


def test_summary_names_what_could_not_be_changed(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "openrlhf", "0.11.0")
    with_script(folder, "quoted.sh")
    made = proposed(plan_of(folder, "bash", "quoted.sh"), no_checkpoint="on", name="mine")
    expected = (
        "Eagleray couldn't apply “New experiment name” and “No checkpoints”; the reasons are below."
    )
    assert made.summary == f"{expected} It leaves behind the final model."


def test_summary_notes_a_submission_that_returns_at_once(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "verl", "0.7.0")
    for option in ("--no-wait", ""):
        line = f"ray job submit {option} -- python3 -m verl.trainer.main_ppo"
        (folder / "run.sh").write_text(f"{line} --no-wait a=1\n")
        made = proposed(plan_of(folder, "bash", "run.sh"), steps="2")
        assert ("returns before the training starts" in made.summary) == bool(option)


def test_summary_has_no_doubtful_effects_among_the_sure_ones(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "verl", "90.0.0")
    (folder / "run.sh").write_text("python3 -m verl.trainer.main_ppo\n")
    made = debug_run(plan_of(folder, "bash", "run.sh"), steps="2")
    assert "This debug run of verl 90.0.0 should stop after 2 steps. This is not" in made.summary
    assert "will" not in made.summary
