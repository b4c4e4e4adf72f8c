"""Run scripts in common shapes: their training line, and whether arguments reach it."""

from __future__ import annotations

import pytest
from eagleray.features.runs.scripts.launch_lines import value_of
from eagleray.features.runs.scripts.script import Script, read_script
from hypothesis import given
from hypothesis import strategies as st

from tests.presets.checkouts import SCRIPTS


def script(name: str, *arguments: str) -> Script:
    return read_script((SCRIPTS / name).read_text(), arguments)


SHAPES = [
    # name, what is run, its line, passed on, without quotes
    ("archer.sh", "dapo.main_dapo", 14, True, True),
    ("verl_quoted.sh", "verl.trainer.main_ppo", 5, True, False),
    ("verl_plain.sh", "verl.trainer.main_ppo", 7, False, False),
    ("verl_engine.sh", "verl.trainer.main_ppo", 3, False, True),
    ("openrlhf.sh", "openrlhf.cli.train_ppo_ray", 12, False, False),
    ("openrlhf_submit.sh", "openrlhf.cli.train_ppo_ray", 1, False, False),
    ("function.sh", "verl.trainer.main_ppo", 3, False, False),
]


@pytest.mark.parametrize(("name", "target", "line", "forwards", "splits"), SHAPES)
def test_shapes(name: str, target: str, line: int, forwards: bool, splits: bool) -> None:
    found = script(name)
    assert found.launch is not None
    assert (found.launch.target, found.launch.line) == (target, line)
    assert (found.forwards, found.splits) == (forwards, splits)
    assert found.text[found.launch.end :].lstrip(" ")[:1] in ("2", "&", "\n")


def test_a_command_that_a_variable_holds() -> None:
    found = script("rlinf.sh")
    assert found.launch is not None
    assert found.launch.target.endswith("/train.py")
    assert found.text[found.launch.end :] == " 2>&1 | cat\n"
    assert found.uses("STEPS") and not found.uses("NODES")


def test_program_in_a_quoted_text_is_reported_and_not_changed() -> None:
    found = script("quoted.sh")
    assert (found.launch, found.hidden) == (None, 3)


def test_line_ends_of_windows() -> None:
    text = (SCRIPTS / "verl_quoted.sh").read_text()
    found = read_script(text.replace("\n", "\r\n"))
    assert found.crlf and found.text == text
    assert found.launch == read_script(text).launch


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("python -c 'import x'", None),
        ("python3 - <<EOF\nimport x\nEOF", None),
        ("python -m pip install x", None),
        ("echo python3 x.txt", None),
        ("python3 -u -X dev a/b.py --c d.py", "a/b.py"),
        ("uv run --extra vllm examples/run_grpo.py a=b", "examples/run_grpo.py"),
        ("uv run python -m nemo_rl.x a=b", "nemo_rl.x"),
        ("torchrun --nproc_per_node 8 train.py", "train.py"),
        ("CUDA_VISIBLE_DEVICES=0 exec /opt/env/bin/python3.11 train.py", "train.py"),
        ('"$PYTHON" -m verl.trainer.main_ppo', "verl.trainer.main_ppo"),
        ("ray job submit --address x -- python3 -m a.b", "a.b"),
        ("python3 prepare.py\npython3 train.py", "train.py"),
    ],
)
def test_what_is_a_training_line(text: str, target: str | None) -> None:
    launch = read_script(text).launch
    assert (launch and launch.target) == target


def test_trainer_line_is_preferred_to_the_last_line() -> None:
    text = "python3 -m verl.trainer.main_ppo a=1\npython3 merge.py"
    found = read_script(text, (), lambda one: one.module)
    assert found.launch is not None
    assert (found.launch.target, found.others) == ("verl.trainer.main_ppo", (2,))


@pytest.mark.parametrize(
    "text",
    [
        'shift\npython3 a.py "$@"',
        'if [ $# -lt 1 ]; then exit 1; fi\npython3 a.py "$@"',
        'while getopts "a:" x; do :; done\npython3 a.py "$@"',
        'N=${2:-8}\npython3 a.py "$@"',
        'python3 a.py "${@:2}"',
        'main() {\n  python3 a.py "$@"\n}\nmain x',
        "python3 a.py $*",
        "python3 a.py '$@'",
        "echo $@\npython3 a.py",
        'python3 prepare.py "$@"\npython3 a.py "$@"',
        'source ./setup.sh "$@"\npython3 a.py "$@"',
    ],
)
def test_a_script_that_reads_its_arguments_itself_passes_nothing_of_ours_on(text: str) -> None:
    assert not read_script(text).forwards


@pytest.mark.parametrize(
    "text",
    [
        'python3 a.py "$@"',
        'echo "with $@" "$@"\npython3 a.py "$@"',
        "python3 a.py $@ 2>&1 | tee log",
        "python3 a.py x ${@} > log",
        "awk '{print $1}' f\npython3 a.py \"$@\"",
        'f() { echo $1; }\nf x\npython3 a.py "${@}"',
    ],
)
def test_a_script_that_passes_its_arguments_on(text: str) -> None:
    assert read_script(text).forwards


VALUES = [
    ("X=1\nX=2\npython3 a.py k=$X", None),
    ("if a; then X=1; else X=2; fi\npython3 a.py k=$X", None),
    ("X=1\npython3 a.py k=$X\nX=2", "1"),
    ("X='a b'\npython3 a.py \"k=${X}\"", "a b"),
    ("python3 a.py k=${X:-1}", None),
    ("python3 a.py k=$(date)", None),
    ("python3 a.py k=1 k=2", "2"),
    ("python3 a.py +k=1", "1"),
    ("python3 a.py kk=1", "absent"),
    ('N=(k=1 k=3)\npython3 a.py "${N[@]}"', "3"),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_the_value_of_a_key(text: str, value: str | None) -> None:
    launch = read_script(text).launch
    assert launch is not None
    found = value_of(launch.arguments, "k", "hydra")
    assert (found[1] if found else "absent") == value


def test_the_value_of_an_option() -> None:
    launch = read_script("python3 a.py --k 1 --k=2 --flag --n -1").launch
    assert launch is not None

    def of(key: str) -> str | None:
        found = value_of(launch.arguments, key, "argparse")
        return found[1] if found else "absent"

    assert [of("--k"), of("--flag"), of("--n"), of("--x")] == ["2", None, "-1", "absent"]


def test_variables_that_the_script_sets() -> None:
    found = script("verl_quoted.sh")
    said = found.assigned("NCCL_TIMEOUT")
    assert said and (said.value.text, said.line, said.exported, said.keeps) == (
        "300",
        3,
        True,
        False,
    )
    kept = script("rlinf.sh").assigned("NCCL_DEBUG")
    assert kept and kept.keeps
    before = script("verl_plain.sh").assigned("NCCL_DEBUG")
    assert before and before.line == 7
    assert found.assigned("OTHER") is None


@given(st.text("ab1 \n'\"$(){}`\\#<>|&;=@!x.py-m", max_size=80))
def test_any_text_is_read(text: str) -> None:
    found = read_script(text)
    assert found.launch is None or 0 < found.launch.end <= len(found.text)


def test_a_long_script_is_read_in_one_go() -> None:
    lines = [f"export V{i}=${{V{i - 1}}}x\necho $V{i} 'a b' $(date)" for i in range(4000)]
    found = read_script("\n".join([*lines, 'python3 train.py k=1 "$@"']))
    assert found.launch is not None and found.launch.line == 8001
    assert len(found.assignments) == 4000


def test_variables_that_double_each_other_have_an_end() -> None:
    lines = [f'V{i}="$V{i - 1}$V{i - 1}"' for i in range(1, 200)]
    found = read_script("\n".join(["V0=ab", *lines, "python3 train.py k=$V199 l=$V2"]))
    assert found.launch is not None
    assert value_of(found.launch.arguments, "k", "hydra") == (found.launch.arguments[0], None)
    assert value_of(found.launch.arguments, "l", "hydra") == (found.launch.arguments[1], "abababab")
