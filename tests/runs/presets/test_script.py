"""Run scripts in common shapes: their training line, and whether arguments reach it."""

from __future__ import annotations

import pytest
from eagleray.runs.scripts.launch_lines import value_of
from eagleray.runs.scripts.script import Script, read_script
from hypothesis import given
from hypothesis import strategies as st

from tests.runs.presets.checkouts import SCRIPTS


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
    parsed = script(name)
    assert parsed.launch is not None
    assert (parsed.launch.target, parsed.launch.line) == (target, line)
    assert (parsed.forwards, parsed.splits) == (forwards, splits)
    assert parsed.text[parsed.launch.end :].lstrip(" ")[:1] in ("2", "&", "\n")


def test_command_in_a_variable_is_read() -> None:
    parsed = script("rlinf.sh")
    assert parsed.launch is not None
    assert parsed.launch.target.endswith("/train.py")
    assert parsed.text[parsed.launch.end :] == " 2>&1 | cat\n"
    assert parsed.uses("STEPS") and not parsed.uses("NODES")


def test_program_in_a_quoted_text_is_reported_and_not_changed() -> None:
    parsed = script("quoted.sh")
    assert (parsed.launch, parsed.hidden) == (None, 3)


def test_line_ends_of_windows() -> None:
    text = (SCRIPTS / "verl_quoted.sh").read_text()
    parsed = read_script(text.replace("\n", "\r\n"))
    assert parsed.crlf and parsed.text == text
    assert parsed.launch == read_script(text).launch


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
def test_training_line_is_found(text: str, target: str | None) -> None:
    launch = read_script(text).launch
    assert (launch and launch.target) == target


def test_trainer_line_is_preferred_to_the_last_line() -> None:
    text = "python3 -m verl.trainer.main_ppo a=1\npython3 merge.py"
    parsed = read_script(text, (), lambda launch: launch.module)
    assert parsed.launch is not None
    assert (parsed.launch.target, parsed.others) == ("verl.trainer.main_ppo", (2,))


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
def test_script_that_reads_its_arguments_does_not_forward_ours(text: str) -> None:
    assert not read_script(text).forwards


@pytest.mark.parametrize(
    "text",
    [
        'python3 a.py "$@"',
        'python3 a.py "${@:1}"',
        'echo "with $@" "$@"\npython3 a.py "$@"',
        "python3 a.py $@ 2>&1 | tee log",
        "python3 a.py x ${@} > log",
        "awk '{print $1}' f\npython3 a.py \"$@\"",
        'f() { echo $1; }\nf x\npython3 a.py "${@}"',
    ],
)
def test_script_forwards_its_arguments(text: str) -> None:
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
    ('N=(k=4 a=1)\nN+=(b=2)\npython3 a.py "${N[@]}"', "4"),
    ('N=(k=4)\nN=(a=1)\npython3 a.py "${N[@]}"', "absent"),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_value_of_a_key_is_read(text: str, value: str | None) -> None:
    launch = read_script(text).launch
    assert launch is not None
    parsed = value_of(launch.arguments, "k", "hydra")
    assert (parsed[1] if parsed else "absent") == value


def test_value_of_an_option_is_read() -> None:
    launch = read_script("python3 a.py --k 1 --k=2 --flag --n -1").launch
    assert launch is not None

    def of(key: str) -> str | None:
        parsed = value_of(launch.arguments, key, "argparse")
        return parsed[1] if parsed else "absent"

    assert [of("--k"), of("--flag"), of("--n"), of("--x")] == ["2", None, "-1", "absent"]


def test_variables_that_the_script_sets() -> None:
    parsed = script("verl_quoted.sh")
    assigned = parsed.assigned("NCCL_TIMEOUT")
    assert assigned and (assigned.value.text, assigned.line, assigned.exported, assigned.keeps) == (
        "300",
        3,
        True,
        False,
    )
    dependent = script("rlinf.sh").assigned("NCCL_DEBUG")
    assert dependent and dependent.keeps
    before = script("verl_plain.sh").assigned("NCCL_DEBUG")
    assert before and before.line == 7
    assert parsed.assigned("OTHER") is None


@given(st.text("ab1 \n'\"$(){}`\\#<>|&;=@!x.py-m", max_size=80))
def test_any_text_is_read(text: str) -> None:
    parsed = read_script(text)
    assert parsed.launch is None or 0 < parsed.launch.end <= len(parsed.text)


def test_long_script_is_read_in_time_proportional_to_its_length() -> None:
    lines = [f"export V{i}=${{V{i - 1}}}x\necho $V{i} 'a b' $(date)" for i in range(4000)]
    parsed = read_script("\n".join([*lines, 'python3 train.py k=1 "$@"']))
    assert parsed.launch is not None and parsed.launch.line == 8001
    assert len(parsed.assignments) == 4000


def test_variables_that_double_each_other_have_an_end() -> None:
    lines = [f'V{i}="$V{i - 1}$V{i - 1}"' for i in range(1, 200)]
    parsed = read_script("\n".join(["V0=ab", *lines, "python3 train.py k=$V199 l=$V2"]))
    assert parsed.launch is not None
    assert value_of(parsed.launch.arguments, "k", "hydra") == (parsed.launch.arguments[0], None)
    assert value_of(parsed.launch.arguments, "l", "hydra") == (
        parsed.launch.arguments[1],
        "abababab",
    )


def test_program_may_be_among_the_arguments_of_the_script() -> None:
    """VeOmni's `train.sh` hands the program and its options to torchrun."""
    given = ["tasks/train.py", "own.yaml", "--train.max_steps", "9"]
    parsed = read_script('torchrun --nproc-per-node=4 "$@" 2>&1 | tee log.txt\n', given)
    assert parsed.launch and parsed.launch.target == "tasks/train.py"
    assert parsed.forwards
    assert read_script('exec "$@"\n', ["python", "-m", "own.train"]).launch
    assert read_script('exec "$@"\n').launch is None
    for text in ('run() {\n  torchrun "$@"\n}\n', 'make "$@"\n'):
        assert read_script(text, given).launch is None
