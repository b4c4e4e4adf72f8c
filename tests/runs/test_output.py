"""What a run printed, on a file system that can't give the beginning of a file back: only the oldest part is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from eagleray.features.runs import output as outputs
from eagleray.features.runs.output import Output, follow, older

MOST = 2**18
LINE = 64


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(outputs, "_punch", lambda fd, length: False)
    monkeypatch.setattr(outputs, "_PAUSE_S", 0.0)
    return tmp_path / "output.log"


def line(number: int) -> bytes:
    return f"{number:0{LINE - 1}}\n".encode()


def numbers(printed: bytes) -> list[int]:
    return [
        int(splitline)
        for splitline in printed.splitlines()
        if splitline.isdigit() and len(splitline) == LINE - 1
    ]


def write(output: Output, first: int, last: int) -> None:
    for number in range(first, last):
        output.write(line(number))
        output.trim()


async def all_of(path: Path) -> bytes:
    return b"".join([piece async for piece in follow(path, lambda: True)])


async def test_the_last_part_is_kept(log: Path) -> None:
    output = Output(log, MOST)
    last = 5 * MOST // LINE
    write(output, 0, last)
    output.close()
    printed = await all_of(log)
    kept = numbers(printed)
    assert kept == list(range(kept[0], last))
    assert len(kept) * LINE >= MOST // 2
    assert printed.startswith(b"(earlier output was too large")
    on_disk = sum(path.stat().st_size for path in log.parent.iterdir())
    assert on_disk < 2 * MOST and len(list(log.parent.iterdir())) == 2


async def test_nothing_is_lost_for_those_who_follow(log: Path) -> None:
    output, seen, done = Output(log, MOST), bytearray(), False
    last = 5 * MOST // LINE

    async def followed() -> None:
        async for piece in follow(log, lambda: done):
            seen.extend(piece)

    following = asyncio.create_task(followed())
    for first in range(0, last, 500):
        write(output, first, min(first + 500, last))
        await asyncio.sleep(0)
    done = True
    await following
    output.close()
    assert numbers(bytes(seen)) == list(range(last))


async def test_slow_follower_gets_the_moved_output(log: Path) -> None:
    """All that it has not read yet lies in the other file when the log is emptied."""
    output = Output(log, MOST)
    write(output, 0, 100)
    following = follow(log, lambda: False)
    printed = await anext(following)
    write(output, 100, MOST // LINE + 10)
    while numbers(printed)[-1] != MOST // LINE + 9:
        printed += await anext(following)
    assert older(log) is not None
    kept = numbers(printed)
    assert kept[:100] == list(range(100)) and kept[-1] == MOST // LINE + 9
    # It was too far behind for the rest.
    assert kept[100:] == list(range(kept[100], MOST // LINE + 10))
    await following.aclose()
    output.close()


async def test_a_new_supervisor_goes_on_where_the_last_one_stopped(log: Path) -> None:
    for first in range(0, 20_000, 5000):
        output = Output(log, MOST)
        write(output, first, first + 5000)
        output.close()
    assert numbers(await all_of(log))[-1] == 19_999
    assert len(list(log.parent.iterdir())) == 2


async def test_replaced_output_has_no_older_part(log: Path) -> None:
    output = Output(log, MOST)
    write(output, 0, 2 * MOST // LINE)
    output.replace_on_write()
    output.write(b"anew\n")
    output.close()
    assert await all_of(log) == b"anew\n" and older(log) is None


async def test_without_room_for_it_the_log_is_emptied(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs.shutil, "copyfileobj", full)
    output = Output(log, MOST)
    write(output, 0, MOST // LINE + 2)
    output.close()
    assert numbers(await all_of(log)) == [MOST // LINE + 1]
    assert [path.name for path in log.parent.iterdir()] == [log.name]
