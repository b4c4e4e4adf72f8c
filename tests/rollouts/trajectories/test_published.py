"""Files of other programs: read right, or with a note about what is missing; other kinds of files are named."""

from __future__ import annotations

import gc
import gzip
import pickle
import sqlite3
import sys
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.trajectories.model import (
    DumpStatistics,
    TrajectoryPage,
    TrajectoryQuery,
)
from eagleray.rollouts.trajectories.roles import ROLES
from eagleray.rollouts.trajectories.rows import ItemLimits
from eagleray.rollouts.trajectories.trajectories import Trajectories

from tests.asked import eagleray
from tests.ray_cluster import wait_for
from tests.rollouts.batches.test_file_kinds import LFS, zipped
from tests.rollouts.trajectories.dumps import areal, write
from tests.rollouts.trajectories.published import (
    PUBLISHED,
    SHAREGPT,
    Published,
    assistant,
    lines,
    printed,
    user,
)

ROOT = Path(__file__).parents[3]
NAMES = {"prompt": "prompt", "completion": "response", "reward": "reward", "group": "group"}


async def opened(path: Path) -> tuple[DumpStatistics, TrajectoryPage]:
    trajectories = Trajectories()
    return (
        await trajectories.statistics(str(path)),
        await trajectories.page(TrajectoryQuery(str(path))),
    )


async def written(folder: Path, name: str, content: bytes) -> tuple[DumpStatistics, TrajectoryPage]:
    (folder / name).write_bytes(content)
    return await opened(folder / name)


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda published: published.name)
async def test_published_file_has_its_figures_or_a_note(
    tmp_path: Path, published: Published
) -> None:
    summed, page = await written(tmp_path, published.file, published.content)
    rewards = summed.rewards
    sentences = [finding.sentence for finding in summed.findings]
    notes = " ".join(each.split(" found")[0] for each in sentences if each.startswith("No "))
    assert summed.items == published.items == len(page.rows)
    assert (rewards.least, rewards.mean, rewards.most) == (published.rewards or (None,) * 3)
    assert summed.groups == published.groups
    assert published.prompt in page.rows[0].prompt
    assert published.completion in page.rows[0].completion
    assert {role for role, name in NAMES.items() if name in notes} == set(published.missing)
    listed = " ".join(page.notes)
    assert all(NAMES[role] in listed for role in published.missing if role != "group")


def test_documented_keys_are_those_that_are_read() -> None:
    text = (ROOT / "docs" / "rollouts.md").read_text()
    table = text.split("| Role | Keys |\n| --- | --- |\n")[1].split("\n\n")[0]
    documented = {row.strip("| ").split(" | ")[1] for row in table.splitlines()}
    read = {", ".join(f"`{key}`" for key in keys) for keys in ROLES.values()}
    assert documented <= read
    assert {", ".join(f"`{key}`" for key in ROLES[role]) for role in NAMES} <= documented


async def test_figures_of_missing_values_are_dashes(tmp_path: Path, own_home: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(lines({"eval/avg_score": 0.4}))
    summed, _ = await opened(path)
    assert (summed.groups, summed.singles, summed.zero_advantage, summed.duplicates) == (None,) * 4
    assert (summed.lengths.count, summed.lengths.mean) == (0, None)
    out = (await eagleray("rollouts", "show", str(path), "--stats")).out.splitlines()
    assert out == [
        "1 trajectory (JSON), - groups, - without a group",
        "No prompt, response, reward, group found; the other keys are eval/avg_score.",
        "",
        "Rewards: min -, mean -, p50 -, p90 -, max -",
        "Completions in characters: min -, mean -, p50 -, p90 -, max -",
        "",
    ]
    shown = await eagleray("rollouts", "show", str(path))
    assert "No prompt, response, reward found" in shown.err


async def test_value_that_some_lack_is_counted(tmp_path: Path) -> None:
    records = [{"prompt": "a", "response": "b", "reward": 1}, {"prompt": "a", "response": "c"}]
    summed, _ = await written(tmp_path, "a.jsonl", lines(*records))
    assert summed.findings[0].sentence == "Some trajectories have no reward (1 of 2)."
    assert summed.rewards.mean == 1.0


async def test_counts_of_notes_are_of_all_lines(tmp_path: Path) -> None:
    """Rewards of one dump as parts, as a text, not at all; one row lacks its prompt, one line is broken."""
    rows = [
        {"messages": [user("a"), assistant("b")], "reward": {"correct": 1.0, "format": 0.5}},
        {"messages": [user("a"), assistant("c")], "reward": "1.0"},
        {"messages": [user("a"), assistant("d")]},
        {"messages": [assistant("d")], "reward": 0.5},
    ]
    summed, page = await written(tmp_path, "a.jsonl", lines(*rows) + b"{broken\n")
    note = "Some trajectories have no prompt (1 of 5), reward (2 of 5)."
    assert note in page.notes
    assert note in [finding.sentence for finding in summed.findings]
    assert (summed.groups, summed.singles) == (1, 2)
    assert (summed.rewards.count, summed.rewards.mean) == (2, 0.75)


async def test_text_that_is_not_split_has_no_completion(tmp_path: Path) -> None:
    """ServiceNow/PipelineRL, pipelinerl/finetune/types.py, TrainingText: prompt and response are one text."""
    rows = [
        {"text": f"1+1? {at}", "input_ids": [1, 2, at], "reward": 1.0, "group_id": "g"}
        for at in (3, 3, 4)
    ]
    summed, page = await written(tmp_path, "a.jsonl", lines(*rows))
    assert "No prompt, response found; the other keys are text." in page.notes
    assert (summed.lengths.count, summed.lengths.mean) == (0, None)
    assert summed.groups == 1


async def test_token_ids_are_not_a_column_of_texts(tmp_path: Path) -> None:
    row = {"prompt": [1, 2, 3], "response": [4, 5, 6], "reward": 1.0}
    summed, page = await written(tmp_path, "a.jsonl", lines(row))
    assert (summed.items, len(page.rows)) == (1, 1)
    assert page.rows[0].problem == "The response is not a text."


async def test_step_comes_from_the_name_of_the_file(tmp_path: Path) -> None:
    row = {"prompt": "a", "response": "b"}
    for name, step in (("train_data_step12", 12), ("eps_000010", 10), ("deps_7", None)):
        _, page = await written(tmp_path, f"{name}.jsonl", lines(row))
        assert page.rows[0].step == step
    _, page = await written(tmp_path, "step_3.jsonl", lines({**row, "step": 4}))
    assert page.rows[0].step == 4


async def test_rewards_that_differ_are_named(tmp_path: Path) -> None:
    """As of thinking-machines-lab/tinker-cookbook 9dfcc3a2, tinker_cookbook/rl/rollout_logging.py."""
    record = {"group_idx": 0, "total_reward": 1.5, "final_reward": 0.5, "final_ob_len": 0}
    summed, page = await written(tmp_path, "a.jsonl", lines(record))
    assert summed.rewards.mean == 1.5
    note = "The reward is total_reward, which differs from final_reward."
    assert note in page.notes
    assert note in [finding.sentence for finding in summed.findings]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"prompt": {"a": 1}, "response": "b"}, "The prompt is not a text."),
        ({"prompt": "a", "response": {"b": 1}}, "The response is not a text."),
        ({"prompt": "a", "messages": [["q", "a"]]}, "The messages have an unknown form."),
        # OpenHands writes events: {"id", "source", "message", "action", "args"}.
        ({"history": [{"id": 0, "message": "a"}]}, "The messages have an unknown form."),
        ({"prompt": "a", "response": "b", "reward": [0.5, 1.0]}, "The reward has 2 parts."),
    ],
)
async def test_value_of_another_type_is_a_problem(
    tmp_path: Path, record: dict[str, object], problem: str
) -> None:
    summed, page = await written(tmp_path, "a.jsonl", lines(record))
    assert (summed.problems, page.rows[0].problem) == (1, problem)


async def test_score_of_a_run_is_not_a_reward_of_its_samples(tmp_path: Path) -> None:
    samples = [{"input": "a", "response": "b"}, {"input": "a", "response": "c"}]
    run = {"model": "m", "score": 0.8, "status": "completed", "samples": samples}
    summed, _ = await written(tmp_path, "run.json", printed(run))
    assert (summed.items, summed.rewards.mean, summed.truncated) == (2, None, None)


async def test_history_of_pairs_is_a_field(tmp_path: Path) -> None:
    """As in hiyouga/LLaMA-Factory ff6d4d12, data/README.md: Alpaca with `history`."""
    record = {"instruction": "a", "input": "", "output": "b", "history": [["q", "r"]]}
    summed, page = await written(tmp_path, "a.json", printed([record]))
    assert (summed.problems, page.rows[0].prompt, page.rows[0].completion) == (0, "a", "b")


async def test_same_names_of_groups_in_two_steps_are_two_groups(tmp_path: Path) -> None:
    for step in (1, 2):
        records = [{"example_id": 0, "prompt": "a", "completion": "b", "reward": 1.0}] * 2
        write(tmp_path / f"step_{step}.jsonl", records)
    summed, _ = await opened(tmp_path)
    assert (summed.groups, summed.zero_advantage) == (2, 2)


async def test_tokens_and_characters_are_not_mixed(tmp_path: Path) -> None:
    counted = areal(1, 0, seqlen=20, prompt_len=12)
    summed, _ = await written(
        tmp_path, "a.jsonl", lines(counted, areal(1, 1, seqlen=None, prompt_len=None))
    )
    assert (summed.unit, summed.lengths.count, summed.lengths.most) == ("tokens", 1, 8.0)


async def test_mask_of_a_response_lies_at_its_tokens(tmp_path: Path) -> None:
    (slime,) = (each for each in PUBLISHED if each.name == "slime")
    (tmp_path / slime.file).write_bytes(slime.content)
    item = await Trajectories().item(str(tmp_path / slime.file), 1, ItemLimits())
    assert item.columns.mask == (0, 0, 0, 1, 1)
    assert item.columns.logprobs == (None, None, None, -0.5, -0.25)
    assert (item.row.prompt_tokens, item.row.tokens) == (3, 5)


def _database(path: Path) -> bytes:
    with sqlite3.connect(path) as connection:
        connection.execute("create table samples(prompt)")
    return path.read_bytes()


SAVED = "a file of torch.save or pickle: `eagleray rollouts batch` opens it"
OTHERS = [
    ("a.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}", "a NumPy array"),
    ("a.npz", zipped("arr_0.npy"), "NumPy arrays (.npz)"),
    ("a.safetensors", b"\x28\x01\0\0\0\0\0\0" + b'{"w": {"dtype": "F32"}}', "a safetensors file"),
    ("a.html", b"<!DOCTYPE html>\n<html><head>", "an HTML page"),
    ("a.jsonl", LFS, "a git-lfs pointer: `git lfs pull` downloads the file"),
    ("a.zip", zipped("a.jsonl"), "a zip archive"),
    ("rollout_7.pt", zipped("rollout_7/data.pkl"), SAVED),
    ("a.pkl", pickle.dumps({"samples": [1]}, 4), SAVED),
    ("a.pt.gz", gzip.compress(zipped("a/data.pkl")), SAVED),
    ("a.log", b"step 1 loss 0.5\nstep 2 loss 0.4\n", "a text"),
    ("a.csv", b"prompt,completion,reward\na,b,1\n", "a text"),
    ("a.bin", bytes(range(256)), "a binary file"),
]


@pytest.mark.parametrize(("name", "content", "kind"), OTHERS, ids=[name for name, _, _ in OTHERS])
async def test_other_kind_of_file_is_named(
    tmp_path: Path, name: str, content: bytes, kind: str
) -> None:
    with pytest.raises(EaglerayError) as raised:
        await written(tmp_path, name, content)
    assert raised.value.code == "not-trajectories"
    assert raised.value.message == f"{tmp_path / name} is {kind}."


async def test_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(EaglerayError) as raised:
        await written(tmp_path, "traces.db", _database(tmp_path / "other.db"))
    assert raised.value.message.endswith("is an SQLite database.")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'[\n  {"prompt": "a",\n   "resp', "Unterminated string"),
        (b'{\n  "samples": [\n', "Expecting value"),
    ],
)
async def test_document_without_an_end_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(EaglerayError) as raised:
        await written(tmp_path, "a.json", content)
    assert raised.value.code == "document-unreadable"
    assert why in raised.value.message


async def test_document_that_is_written_again_is_read_again(tmp_path: Path) -> None:
    path, trajectories = tmp_path / "a.json", Trajectories()
    for count in (1, 3, 2):
        path.write_bytes(printed(SHAREGPT[:count]))
        assert (await trajectories.statistics(str(path))).items == count


async def test_documents_may_follow_each_other(tmp_path: Path) -> None:
    summed, _ = await written(tmp_path, "a.json", b"".join(map(printed, SHAREGPT)))
    assert summed.items == 3


async def test_line_that_is_broken_stays_a_problem(tmp_path: Path) -> None:
    table = lines({"prompt": ["a", "b"], "completion": ["c", "d"]})
    summed, page = await written(tmp_path, "a.jsonl", table + b"{broken\n")
    assert (summed.items, summed.problems, page.rows[2].completion) == (3, 1, "{broken")
    summed, _ = await written(tmp_path, "b.jsonl", b'oken"}\n' + lines(areal(1, 0), areal(1, 1)))
    assert (summed.items, summed.problems, summed.groups) == (3, 1, 1)


async def test_gzip_that_was_cut_is_named(tmp_path: Path) -> None:
    with pytest.raises(EaglerayError) as raised:
        await written(tmp_path, "a.jsonl.gz", gzip.compress(lines(areal(1, 0)))[:-9])
    assert "not whole gzip data" in raised.value.message
    content = gzip.compress(lines(areal(1, 0))) + gzip.compress(lines(areal(1, 1)))
    summed, _ = await written(tmp_path, "b.jsonl.gz", content)
    assert summed.items == 2


async def test_folder_of_documents_has_their_trajectories(tmp_path: Path) -> None:
    for at in range(3):
        (tmp_path / f"episode_{at}.json").write_bytes(printed(SHAREGPT[at]))
    summed, page = await opened(tmp_path)
    assert (summed.items, page.rows[2].file) == (3, "episode_2.json")


async def test_copies_end_with_their_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(copies))
    await written(tmp_path, "a.json", printed(SHAREGPT))
    # The thread that has read the dump refers to it for a moment longer.
    wait_for("the end of the copies", lambda: gc.collect() >= 0 and not [*copies.iterdir()])


# A module in place of pyarrow, with the parts that are used.
PARQUET = """
class Batch:
    def to_pylist(self): return [{"prompt": "a", "completion": text, "reward": 0.5} for text in "bc"]

class ParquetFile:
    def __init__(self, path): assert open(path, "rb").read(4) == b"PAR1", "no magic bytes"
    def iter_batches(self, batch_size): return iter([Batch(), Batch()])
"""


async def test_parquet_is_read_by_the_users_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text("")
    (tmp_path / "pyarrow" / "parquet.py").write_text(PARQUET)
    monkeypatch.setenv("VIRTUAL_ENV", str(Path(sys.executable).parents[1]))
    with pytest.raises(EaglerayError) as raised:
        await written(tmp_path, "a's.parquet", b"PAR1")
    assert raised.value.code == "no-parquet-reader"
    assert "read_parquet" in raised.value.next_step
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    summed, _ = await opened(tmp_path / "a's.parquet")
    assert (summed.items, summed.rewards.mean, summed.duplicates) == (4, 0.5, 2)
    (tmp_path / "pyarrow" / "parquet.py").write_text(PARQUET.replace("PAR1", "PAR22"))
    with pytest.raises(EaglerayError) as raised:
        await opened(tmp_path / "a's.parquet")
    assert "no magic bytes" in raised.value.message
