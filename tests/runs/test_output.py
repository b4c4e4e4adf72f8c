"""The output of a run, on a file system that can't give the beginning of a file back: only the oldest part is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from eagleray.runs import output as outputs
from eagleray.runs.output import Output, follow, older

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


async def test_trimmed_output_has_its_last_part(log: Path) -> None:
    output = Output(log, MOST)
    last = 5 * MOST // LINE
    write(output, 0, last)
    output.close()
    printed = await all_of(log)
    remaining = numbers(printed)
    assert remaining == list(range(remaining[0], last))
    assert len(remaining) * LINE >= MOST // 2
    assert printed.startswith(b"(earlier output was too large")
    on_disk = sum(path.stat().st_size for path in log.parent.iterdir())
    assert on_disk < 2 * MOST and len(list(log.parent.iterdir())) == 2


async def test_follower_misses_no_output(log: Path) -> None:
    output, received, done = Output(log, MOST), bytearray(), False
    last = 5 * MOST // LINE

    async def followed() -> None:
        async for piece in follow(log, lambda: done):
            received.extend(piece)

    following = asyncio.create_task(followed())
    for first in range(0, last, 500):
        write(output, first, min(first + 500, last))
        await asyncio.sleep(0)
    done = True
    await following
    output.close()
    assert numbers(bytes(received)) == list(range(last))


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
    remaining = numbers(printed)
    assert remaining[:100] == list(range(100)) and remaining[-1] == MOST // LINE + 9
    # It was too far behind for the rest.
    assert remaining[100:] == list(range(remaining[100], MOST // LINE + 10))
    await following.aclose()
    output.close()


async def test_new_supervisor_appends_to_the_output(log: Path) -> None:
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
