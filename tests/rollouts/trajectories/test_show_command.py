"""`eagleray rollouts show`: the list, one trajectory, its group, the statistics, and their JSON."""

from __future__ import annotations

from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from eagleray.cli.json_schemas import json_schema

from tests.asked import eagleray
from tests.rollouts.trajectories.dumps import areal, own, write

SCHEMA = json_schema("trajectories")
LISTED = """\
ITEM  REWARD  TOKENS  VERSION  PROMPT          COMPLETION                NOTE
1     0       20      3-4      What is 2+2? 1  It is 1.0<|im_end|>       -
2     1       20      3-4      What is 2+2? 1  It is 1.1 and never ends  cut
"""


@pytest.fixture
def dump(tmp_path: Path, own_home: Path) -> str:
    records = [
        areal(1, 0, prompt="What is 2+2?\n1"),
        areal(1, 1, prompt="What is 2+2?\n1", completion="It is 1.1 and never ends"),
    ]
    return str(write(tmp_path / "7.jsonl", records))


async def test_list_is_a_table(dump: str) -> None:
    done = await eagleray("rollouts", "show", dump)
    assert done.out == LISTED
    assert (await eagleray("rollouts", dump)).out == done.out


async def test_wide_list_has_file_and_line(dump: str) -> None:
    done = await eagleray("rollouts", "show", dump, "--wide", "--filter", "truncated")
    assert "7.jsonl" in done.out and len(done.out.splitlines()) == 2


async def test_item_is_printed_turn_by_turn(dump: str) -> None:
    done = await eagleray("rollouts", "show", dump, "--item", "2")
    assert done.out.splitlines()[:5] == [
        "File: 7.jsonl:2",
        "Format: AReaL",
        "Group: 1",
        "Sample: 1",
        "Reward: 1",
    ]
    assert done.out.endswith("[completion · trained]\nIt is 1.1 and never ends\n")


async def test_field_with_lines_is_a_block(tmp_path: Path, own_home: Path) -> None:
    path = write(tmp_path / "w.jsonl", [own("7", 0, printed="asks\nwaits\n", outcome="done")])
    shown = (await eagleray("rollouts", "show", str(path), "--item", "1")).out
    assert "outcome: done\n" in shown
    assert shown.endswith("\n\n[printed]\nasks\nwaits\n")


async def test_group_and_statistics_are_texts(dump: str) -> None:
    group = (await eagleray("rollouts", "show", dump, "--group", "1")).out
    assert "[item 2 · reward 1 · cut]\nIt is 1.1 and never ends" in group
    statistics = (await eagleray("rollouts", "show", dump, "--stats")).out.splitlines()
    assert statistics[:2] == [
        "2 trajectories (AReaL), 1 group, 0 without a group",
        "1 of 2 completions were cut.",
    ]
    assert "Rewards: min 0, mean 0.5, p50 0, p90 1, max 1" in statistics


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ((), "rows"),
        (("--item", "1"), "trajectory"),
        (("--group", "1"), "group"),
        (("--stats",), "statistics"),
    ],
)
async def test_json_has_its_shape(dump: str, options: tuple[str, ...], field: str) -> None:
    printed = (await eagleray("rollouts", "show", dump, *options, "--json")).json
    jsonschema.validate(printed, SCHEMA)
    assert printed[field]


async def test_json_of_an_item_has_its_tokens(tmp_path: Path, own_home: Path) -> None:
    path = write(tmp_path / "wave.jsonl", [own("g", 0)])
    printed = (await eagleray("rollouts", "show", str(path), "--item", "1", "--json")).json
    assert printed["trajectory"]["columns"]["logprobs"] == [0.0, 0.0, -0.5]


async def test_list_says_what_it_leaves_out(dump: str) -> None:
    with Path(dump).open("a") as file:
        file.write('{"task_id"')
    done = await eagleray("rollouts", "show", dump, "--top", "1")
    assert done.err.splitlines() == [
        "Line 3 of 7.jsonl isn't complete.",
        "These are the first 1 of 2.",
    ]
    nothing = await eagleray("rollouts", "show", dump, "--search", "never there")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.splitlines()[-1] == "No trajectory matches."


async def test_control_sequences_of_a_dump_are_not_printed(tmp_path: Path, own_home: Path) -> None:
    path = write(tmp_path / "a.jsonl", [areal(1, 0, completion="\x1b[2Jgone\r")])
    for options in ((), ("--item", "1"), ("--group", "1")):
        done = await eagleray("rollouts", "show", str(path), *options)
        assert "gone" in done.out and "\x1b" not in done.out


async def test_missing_dump_is_an_error_with_a_next_step(own_home: Path) -> None:
    done = await eagleray("rollouts", "show", "/nowhere/a.jsonl")
    assert done.code == 1
    assert done.err.splitlines() == [
        "eagleray: Can't read /nowhere/a.jsonl: No such file or directory.",
        "Select a dump of trajectories, or its folder.",
    ]
    assert (await eagleray("rollouts", "show", "a", "--item", "1", "--stats")).code == 2
