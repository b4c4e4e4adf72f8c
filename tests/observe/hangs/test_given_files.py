"""Files with stacks and flight recorders: archives, encodings and damage; nothing in them is executed."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest
from eagleray.cli.next_steps import terminal_step
from eagleray.common.errors import EaglerayError
from eagleray.observe.hangs.pasted.given_files import GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of

from tests.observe.hangs.given_dumps import (
    GIVEN,
    given,
)


def test_flight_recorders_alone_name_the_rank_that_is_late() -> None:
    taken = given(*GIVEN.glob("nccl_trace_rank_*"))
    assert taken.verdict.culprits == "1"
    assert "Rank 1 has not started collective 4 (all_reduce)" in taken.verdict.sentence
    # Where the one that waits has started it.
    (waiting,) = taken.classes
    assert waiting.frames[0].path.endswith("frd.py")


def test_missing_rank_of_a_group_is_listed() -> None:
    taken = given(GIVEN / "nccl_trace_rank_0")
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(1, "not-given")]


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return exec, ("raise SystemExit('executed')",)


def test_pickle_that_imports_is_not_a_flight_recorder(tmp_path: Path) -> None:
    bomb = tmp_path / "nccl_trace_rank_0"
    bomb.write_bytes(pickle.dumps({"entries": [], "x": Bomb()}))
    with pytest.raises(EaglerayError) as raised:
        given(bomb)
    assert raised.value.code == "no-stacks"


def archive_of(folder: Path, kind: str) -> Path:
    path = folder / f"dumps.{kind}"
    files = sorted(GIVEN.glob("mismatch.*"))
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as packed:
            for file in files:
                packed.write(file, file.name)
    elif kind == "tgz":
        with tarfile.open(path, "w:gz") as tar:
            for file in files:
                tar.add(file, file.name)
    else:
        text = "".join(
            f"[rank{rank}]: {line}\n"
            for rank, file in enumerate(files)
            for line in file.read_text().splitlines()
        )
        path.write_bytes(gzip.compress(text.encode("utf-16" if kind == "utf16.gz" else "utf-8")))
    return path


@pytest.mark.parametrize("kind", ["zip", "tgz", "log.gz", "utf16.gz"])
def test_archives_and_encodings_are_read(tmp_path: Path, kind: str) -> None:
    verdict = given(archive_of(tmp_path, kind)).verdict
    assert (verdict.kind, verdict.culprits) == ("collective-mismatch", "1,3")


def test_damaged_archive_is_said_beside_what_was_read(tmp_path: Path) -> None:
    whole = archive_of(tmp_path, "zip")
    cut = tmp_path / "cut.tgz"
    cut.write_bytes(archive_of(tmp_path, "tgz").read_bytes()[:200])
    sources = GivenFiles([str(whole), str(cut)])
    assert picture_of(sources).verdict.kind == "collective-mismatch"
    assert sources.unread == [(str(cut), "damaged")]


def test_file_beyond_the_limit_is_listed_beside_its_beginning() -> None:
    files = GivenFiles(["-"], io.BytesIO(b"0123456789"), room=4)
    assert [file.content for file in files] == [b"0123"]
    assert files.unread == [("-", "only its beginning was read")]


def test_text_without_stacks_is_an_error() -> None:
    with pytest.raises(EaglerayError) as raised:
        given("-", stdin=b"Traceback (most recent call last):\n  nothing (here:3)\n")
    assert raised.value.code == "no-stacks"
    assert "eagleray doctor" in terminal_step(raised.value.code, raised.value.next_step)


def test_recorder_without_counters_has_the_counters_of_its_entries(tmp_path: Path) -> None:
    for rank, numbers in enumerate(([1], [1, 2])):
        entries = [
            {
                "pg_id": 0,
                "process_group": ["3", "tp:0"],
                "collective_seq_id": number,
                "profiling_name": "nccl:all_reduce",
                "input_sizes": [[8]],
                "input_dtypes": ["Float"],
                "state": "completed" if number == 1 else "scheduled",
                "retired": number == 1,
                "is_p2p": False,
            }
            for number in numbers
        ]
        (tmp_path / f"nccl_trace_rank_{rank}").write_text(json.dumps({"entries": entries}))
    verdict = given(tmp_path).verdict
    assert verdict.sentence == "Rank 0 has not started collective 2 (all_reduce) of tp:0."


def test_damaged_recorder_beside_others_is_named(tmp_path: Path) -> None:
    (tmp_path / "fr_rank2.json").write_text('{"version":"2.5","entries":[{"record_id":0')
    (tmp_path / "nccl_trace_rank_1").write_bytes((GIVEN / "nccl_trace_rank_1").read_bytes()[:200])
    sources = GivenFiles([str(GIVEN / "nccl_trace_rank_0"), str(tmp_path)])
    picture_of(sources)
    assert sources.unread == [
        (str(tmp_path / name), "not a flight recorder")
        for name in ("fr_rank2.json", "nccl_trace_rank_1")
    ]


def recorder(rank: int, enqueued: int = 4) -> str:
    """The JSON of a rank whose collective 3 has started, with further ones enqueued."""
    entries = [
        {
            "process_group": ["0", "default_pg"],
            "collective_seq_id": number,
            "profiling_name": "nccl:all_reduce",
            "input_sizes": [[4]],
            "input_dtypes": ["Float"],
            "state": "started" if number == 3 else "scheduled",
            "retired": False,
            "is_p2p": False,
        }
        for number in range(3, enqueued + 1)
    ]
    status = {"last_enqueued_collective": enqueued, "last_completed_collective": 2}
    groups = {"0": {"ranks": "[0, 1]"}}
    return json.dumps({"pg_config": groups, "pg_status": {"0": status}, "entries": entries})


@pytest.mark.parametrize("name", ["rank{}_fr.json", "rank-{}-host7.fr.json", "Rank{}-fr2.pkl"])
def test_one_record_of_ranks_in_one_collective_shows_no_hang(tmp_path: Path, name: str) -> None:
    """PyTorch writes it also for a job that runs (TORCH_NCCL_DEBUG_INFO_PIPE_FILE)."""
    for rank in range(2):
        (tmp_path / name.format(rank)).write_text(recorder(rank, 4 + rank))
    taken = given(tmp_path)
    assert (taken.verdict.kind, taken.verdict.sentence) == (
        "unknown",
        "All ranks are in collective 3 (all_reduce) of default_pg in this dump.",
    )
    assert [each.rank for each in taken.ranks] == [0, 1]


def test_log_with_a_time_out_makes_a_record_one_of_a_hang(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"rank{rank}_fr.json").write_text(recorder(rank))
    (tmp_path / "job.log").write_text(
        "[rank1]:[E1130 ProcessGroupNCCL.cpp:685] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600029 "
        "milliseconds before timing out.\n"
    )
    assert given(tmp_path).verdict.kind == "transport"
