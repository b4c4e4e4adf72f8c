"""Values that scripts print on several nodes, whose lines SLURM mixes."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

from eagleray.remote import scripts as remote_scripts
from eagleray.tools.commands import values_in
from hypothesis import given
from hypothesis import strategies as st

MARK = "0123456789abcdef"
SCRIPTS = Path(remote_scripts.__file__).parent
# Longer lines of tasks are mixed (22.05, slurmstepd/io.c).
WHOLE = 1024


def lines_of(sender: int, value: Any, size: int) -> list[str]:
    text = json.dumps(value)
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    return [f"{MARK} node/{sender} {len(parts)} {part}" for part in parts]


@given(
    st.lists(st.dictionaries(st.text(), st.text()), min_size=1, max_size=4),
    st.integers(1, 20),
    st.randoms(use_true_random=False),
)
def test_mixed_lines_are_put_together(values: list[Any], size: int, random: Any) -> None:
    waiting = [lines_of(sender, value, size) for sender, value in enumerate(values)]
    output = ["Welcome to node-9"]
    while any(waiting):
        output.append(random.choice([lines for lines in waiting if lines]).pop(0))
    assert sorted(map(json.dumps, values_in("\n".join(output), MARK))) == sorted(
        map(json.dumps, values)
    )


def test_other_lines_are_not_values() -> None:
    output = (
        f'{MARK}{{"a": 1}}\n{MARK} key x {{}}\n{MARK} key\n{MARK} key 2 {{"b":\n other {MARK}{{}}\n'
    )
    assert values_in(output, MARK) == [{"a": 1}]
    assert values_in(f"{MARK} key 1 no JSON", MARK) == [None]


def test_scripts_for_nodes_print_lines_that_stay_whole(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(runpy.run_path(str(SCRIPTS / "read_logs.py"))["__doc__"].encode() * 99)
    for name, arguments in (("node_facts", []), ("read_logs", ["1000000", str(log)])):
        command = [sys.executable, "-I", str(SCRIPTS / f"{name}.py"), MARK, *arguments]
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert max(map(len, output.stdout.splitlines())) < WHOLE
        [value] = values_in(output.stdout, MARK)
        assert value.get("path", str(log)) == str(log)
