"""Steps to record: the switches of NeMo RL, verl and RLinf, all of their keys or none, else the profiler calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.runs.model import ProfilePlan, RunPlan
from eagleray.runs.presets.debug_runs import NONE, DebugRuns
from eagleray.runs.presets.framework_table_file import tables
from eagleray.runs.presets.model import DebugRunProposal
from eagleray.runs.presets.step_recording import REQUEST
from eagleray.runs.presets.user_presets import OwnPresets

from tests.runs.presets.checkouts import NOW, TRAINERS, VERL, checkout
from tests.runs.presets.test_unread_versions import verl

NEMO_RL = ("python", "run_grpo.py")
RLINF = ("python", "train_embodied_agent.py")
PROGRAMS = {
    "nemo_rl": ("run_grpo.py", TRAINERS["nemo_rl"]),
    "rlinf": ("train_embodied_agent.py", TRAINERS["rlinf"]),
}


def proposed(
    folder: Path, argv: tuple[str, ...], framework: str, version: str, profile: ProfilePlan
) -> DebugRunProposal:
    made = checkout(folder, framework, version)
    if framework in PROGRAMS:
        name, text = PROGRAMS[framework]
        (made / name).write_text(text)
    presets = DebugRuns(OwnPresets(folder / "presets"), lambda: NOW)
    return presets.proposal(
        RunPlan(kind="program", argv=argv, cwd=str(made), name="train", profile=profile), NONE, {}
    )


def steps(*workers: str, **more: object) -> ProfilePlan:
    return ProfilePlan(workers, when="steps", steps="3:5", **more)  # type: ignore[arg-type]


def the_reason(made: DebugRunProposal) -> str:
    """Why the program is left as it is: nothing of a switch is set."""
    assert (made.plan.env, made.plan.overrides) == ({}, ())
    (change,) = made.changes
    assert change.request == REQUEST and "cudaProfilerApi" in change.why + change.where
    return f"{change.outcome}: {change.why}"


def test_nemo_rl_gets_patterns_and_steps_together(tmp_path: Path) -> None:
    profile = steps("*policy*", "*vllm*", options={"gpu-metrics-device": "all"})
    made = proposed(tmp_path, NEMO_RL, "nemo_rl", "0.7.0", profile)
    assert made.plan.env == {
        "NRL_NSYS_WORKER_PATTERNS": "*policy*,*vllm*",
        "NRL_NSYS_PROFILE_STEP_RANGE": "3:5",
        "NRL_NSYS_EXTRA_OPTIONS": '{"gpu-metrics-device": "all"}',
    }
    assert {change.outcome for change in made.changes} == {"will apply"}
    older = proposed(tmp_path, NEMO_RL, "nemo_rl", "0.5.0", profile)
    assert sorted(older.plan.env) == ["NRL_NSYS_PROFILE_STEP_RANGE", "NRL_NSYS_WORKER_PATTERNS"]


def test_verl_ends_its_reports_after_as_many_ranges_as_there_are_steps(tmp_path: Path) -> None:
    made = proposed(tmp_path, VERL, "verl", "0.7.0", steps("*", ranks=(0, 2)))
    options = "++global_profiler.global_tool_config.nsys.worker_nsight_options"
    assert set(made.plan.overrides) >= {
        "++global_profiler.tool=nsys",
        "++global_profiler.steps=[3,4]",
        f"{options}.trace='cuda,nvtx,osrt'",
        f"{options}.capture-range-end=repeat-shutdown:2",
        "++actor_rollout_ref.actor.profiler.enable=true",
        "++actor_rollout_ref.actor.profiler.all_ranks=false",
        "++actor_rollout_ref.actor.profiler.ranks=[0,2]",
    }


def test_rlinf_gets_the_names_of_its_groups(tmp_path: Path) -> None:
    profile = steps("ActorGroup", "RolloutGroup", output="/data/p")
    made = proposed(tmp_path, RLINF, "rlinf", "0.4.0", profile)
    assert set(made.plan.overrides) == {
        "++cluster.profiling.backend=nsight",
        "++cluster.profiling.enabled=true",
        "++cluster.profiling.worker_groups=[ActorGroup,RolloutGroup]",
        "++cluster.profiling.steps=[3,4]",
        "++cluster.profiling.output_dir=/data/p/rlinf",
    }


@pytest.mark.parametrize(
    ("framework", "argv", "version", "profile", "why"),
    [
        (*("rlinf", RLINF, "0.4.0"), steps("*Actor*"), "not changed: RLinf takes names of"),
        (*("rlinf", RLINF, "0.2.0"), steps("ActorGroup"), "no such option: RLinf 0.2.0 has no"),
        (*("verl", VERL, "0.7.0"), steps("*policy*"), "not changed: verl can only record all"),
        (*("verl", VERL, "0.5.0"), steps("*"), "no such option: verl 0.5.0 has no"),
        (*("nemo_rl", NEMO_RL, "9.0.0"), steps("*"), "Your checkout has no NRL_NSYS_WORKER_PATT"),
        (*("nemo_rl", NEMO_RL, ""), steps("*"), "Your checkout has no NRL_NSYS_WORKER_PATT"),
        (*("nemo_rl", NEMO_RL, "0.7.0"), ProfilePlan(("*",), when="steps"), "will apply: "),
        (
            *("nemo_rl", NEMO_RL, "0.7.0"),
            ProfilePlan(("*",), when="steps", steps="0:2"),
            "not changed: The first step of NeMo RL is 1",
        ),
    ],
)
def test_other_cases_record_between_profiler_calls(
    tmp_path: Path,
    framework: str,
    argv: tuple[str, ...],
    version: str,
    profile: ProfilePlan,
    why: str,
) -> None:
    assert why in the_reason(proposed(tmp_path, argv, framework, version, profile))


@pytest.mark.parametrize("preset", [NONE, "debug"])
def test_diff_of_a_copied_script_shows_only_the_added_options(tmp_path: Path, preset: str) -> None:
    folder = checkout(tmp_path, "rlinf", "0.4.0")
    (folder / "train_embodied_agent.py").write_text(TRAINERS["rlinf"])
    lines = [
        "#!/bin/bash",
        *(f"# line {i}" for i in range(9)),
        "python train_embodied_agent.py a=1",
    ]
    (folder / "run.sh").write_text("\n".join([*lines, 'echo "$1"', ""]))
    plan = RunPlan(
        kind="script",
        argv=("bash", "run.sh"),
        cwd=str(folder),
        name="r",
        profile=steps("ActorGroup"),
    )
    made = DebugRuns(OwnPresets(tmp_path / "p"), lambda: NOW).proposal(plan, preset, {})
    assert "cluster.profiling.steps" in made.plan.copy_text
    assert all(line in made.before for line in lines)


def test_unread_version_gets_a_switch_that_the_checkout_has(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "nemo_rl", "9.0.0")
    for file in ("distributed/worker_group_utils.py", "utils/nsys.py"):
        path = folder / "nemo_rl" / file
        path.parent.mkdir(parents=True)
        path.write_text("NRL_NSYS_WORKER_PATTERNS, NRL_NSYS_PROFILE_STEP_RANGE\n")
    made = proposed(tmp_path, NEMO_RL, "nemo_rl", "9.0.0", steps("*policy*"))
    assert made.plan.env["NRL_NSYS_PROFILE_STEP_RANGE"] == "3:5"
    assert {change.outcome for change in made.changes} == {"set, effect not verified"}
    assert made.summary.startswith(
        "NeMo RL 9.0.0 should run nsys itself, for steps 3 to 4 of *policy*."
    )


def block(keys: list[str], indent: str = "") -> str:
    """A YAML file that defines `keys`, whose names are joined by dots."""
    lines = []
    for name in dict.fromkeys(key.partition(".")[0] for key in keys):
        below = [key.partition(".")[2] for key in keys if key.partition(".")[0] == name]
        inner = block([key for key in below if key], f"{indent}  ")
        lines.append(f"{indent}{name}:\n{inner}" if inner else f"{indent}{name}: 1\n")
    return "".join(lines)


@pytest.mark.parametrize("missing", [False, True])
def test_unread_version_gets_overrides_that_the_checkout_defines(
    tmp_path: Path, missing: bool
) -> None:
    (table,) = [table for table in tables() if table.framework == "verl" and table.profile]
    assert table.profile
    nearest = table.nearest("90.0.0")
    keys = [entry.key for entry in table.profile.entries if entry.check(nearest)]
    shown = ["trainer.total_training_steps", *keys[missing:]]
    verl(tmp_path, "90.0.0", block(shown))
    plan = RunPlan(kind="program", argv=VERL, cwd=str(tmp_path), name="train", profile=steps("*"))
    made = DebugRuns(OwnPresets(tmp_path / "presets"), lambda: NOW).proposal(plan, NONE, {})
    if missing:
        assert f"Your checkout has no {keys[0]}." in the_reason(made)
    else:
        assert {change.outcome for change in made.changes} == {"set, effect not verified"}
        assert len(made.plan.overrides) == len(keys)


def test_summary_names_the_recorded_steps(tmp_path: Path) -> None:
    made = proposed(tmp_path, NEMO_RL, "nemo_rl", "0.7.0", steps("*"))
    expected = "NeMo RL 0.7.0 runs nsys itself, for steps 3 to 4 of all workers."
    assert made.summary == f"{expected} Eagleray downloads the reports."


def test_run_that_always_records_gets_no_switch(tmp_path: Path) -> None:
    made = proposed(tmp_path, NEMO_RL, "nemo_rl", "0.7.0", ProfilePlan(("*",)))
    assert (made.plan.env, made.changes) == ({}, ())


def test_every_key_of_a_switch_was_verified() -> None:
    switches = {table.framework: table.profile for table in tables() if table.profile}
    assert set(switches) == {"nemo_rl", "verl", "rlinf"}
    for switch in switches.values():
        for entry in (*switch.entries, *switch.environment):
            assert all(check.acts and len(check.commit) == 40 for check in entry.checked)
