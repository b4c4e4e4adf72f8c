"""First tries of users of kubectl, docker, ray, squeue and py-spy: each works, or gets a hint that works."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from eagleray.cli import first_tries
from eagleray.cli.command_line import parse
from eagleray.cli.main import main

from tests.asked import ask

HINT = re.compile(r"Did you mean `eagleray ([^`]+)`\?|program: eagleray (.+)")
NO_PROCESS = "4194305"
TRIES = {
    "ps": "runs ls",
    "ps -a": "runs ls",
    "list": "workers ls",
    "list actors": "workers ls",
    "get pods -o wide": "workers ls",
    "get workers": "workers ls",
    "describe policy-0": "inspect policy-0",
    "describe pod policy-0": "inspect policy-0",
    "connect 127.0.0.1:1": "clusters add 127.0.0.1:1",
    "hang": "stacks RUN",
    f"why {NO_PROCESS}": f"stacks {NO_PROCESS}",
    f"dump --pid {NO_PROCESS}": f"stacks {NO_PROCESS}",
    f"py-spy dump --pid {NO_PROCESS}": f"stacks {NO_PROCESS}",
    f"stacks -p {NO_PROCESS}": f"stacks --pids {NO_PROCESS}",
    "version": "--version",
    "profile main.py": "profile --workers '*' -- python main.py",
    "run main.py --steps 2": "run -- python main.py --steps 2",
    "run -d -- python main.py": "run --detach -- python main.py",
    "run -e A=1 -- python main.py": "run --env A=1 -- python main.py",
    "submit --working-dir . -- python main.py": "run -- python main.py",
    "job submit -- python main.py": "run -- python main.py",
    "sbatch train.sh": "run -- bash train.sh",
    "runs 3f2a": "runs output 3f2a",
    "runs kill 3f2a": "runs stop 3f2a",
    "scancel 4711": "runs stop 4711",
    "squeue --me": "slurm ls",
    "slurm 4711": "stacks --slurm 4711",
    "status --address 127.0.0.1:1": "clusters ls",
    "clusters ls --address 127.0.0.1:1": "clusters ls --cluster 127.0.0.1:1",
    "workers policy-0": "workers attach policy-0",
    "attach rank 3": "attach 3",
    "attach --rank 3": "attach 3",
    "logs pod policy-0": "logs policy-0",
    "tail -n 5 policy-0": "workers logs -n 5 policy-0",
    "runs ls -q": "runs ls -o name",
    "runs ls --format json": "runs ls -o json",
    "workers ls -a": "workers ls",
    "resume policy-0": "workers continue policy-0",
    "port-forward 127.0.0.1:1": "tunnel 127.0.0.1:1",
    "dashboard": "tunnel CLUSTER",
    "diagnose /var/log": "doctor /var/log",
    "record 3f2a": "profile record 3f2a",
}


def hint_of(printed: str) -> str:
    match = HINT.search(printed)
    assert match, printed
    return match[1] or match[2]


@pytest.mark.parametrize("written", TRIES)
def test_first_try_gets_a_hint_that_works(written: str, own_home: Path) -> None:
    env = {**os.environ, "EAGLERAY_DISCOVERY": "off"}
    tried = ask(env, *shlex.split(written))
    assert tried.returncode == 2 and hint_of(tried.stderr) == TRIES[written]
    ours, dashes, program = TRIES[written].partition("-- ")
    dry = "--dry-run --anyway " if dashes else ""
    done = ask(env, *shlex.split(f"{ours}{dry}{dashes}{program}"))
    assert done.returncode != 2, done.stderr


@pytest.mark.parametrize("words", first_tries._TEMPLATES)
def test_every_row_is_an_unknown_command_with_a_valid_hint(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    hint = shlex.split(hint_of(capsys.readouterr().err))
    if hint[0].startswith("-"):
        with pytest.raises(SystemExit) as ended:
            main(hint)
        assert ended.value.code == 0
    else:
        parse(hint)


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        ("logs -f w", "follow", True),
        ("logs w -n 5", "lines", 5),
        ("logs w --tail 5", "lines", 5),
        ("logs w --tail=5", "lines", 5),
        ("runs logs -f 3f2a", "id", "3f2a"),
        ("stacks --pids 1,2 3", "pids", ["1,2", "3"]),
        ("stacks 1 2", "run", ["1", "2"]),
        ("stacks --save x.json 3f9c", "run", ["3f9c"]),
        ("attach 3", "worker", "3"),
    ],
)
def test_first_try_is_accepted(written: str, name: str, value: object) -> None:
    _, parsed = parse(written.split())
    assert getattr(parsed, name) == value


def test_stacks_takes_pids_without_an_option(own_home: Path) -> None:
    for written in (["4194305", "4194306"], ["4194305,4194306"], ["--pids", "4194305,4194306"]):
        done = ask(os.environ, "stacks", *written)
        assert (done.returncode, done.stderr.splitlines()[0]) == (
            1,
            "eagleray: No process 4194305, 4194306.",
        )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("stacks", "Which program? Pass a run ID, a PID, --cluster, --slurm or --hosts."),
        ("stacks 3f9c 91bc", "Specify one run, or PIDs."),
        ("stacks --pids train.py", "PIDs are numbers, for example --pids 4711,4712."),
        ("doctor", "Pass a log file or folder, for example /tmp/ray/session_latest/logs."),
    ],
)
def test_missing_target_is_explained_in_three_lines(
    written: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(written.split())
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"eagleray: {message}" and len(lines) == 2
