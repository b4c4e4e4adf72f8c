"""The output of a SLURM job, followed by a process: nothing is lost or copied twice, whatever happens to file or link."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from eagleray.common.retry import Backoff
from eagleray.remote.scripts.follow_files import DOUBTS, PIECE, STALE_S, FollowedFile
from eagleray.runs.output import Output
from eagleray.supervisor.launchers import job_output
from eagleray.supervisor.launchers.job_output import JobOutput
from eagleray.tools.commands import Commands

from tests.ray_cluster import wait_for

REPLACED = job_output._REPLACED


class Job:
    """A job that writes `file`, and what Eagleray has copied of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(job_output, "AGAIN", Backoff(0.0, 0.0))
        self.file = folder / "job.log"
        self.log = folder / "output.log"
        self.events: list[str] = []
        self.output = JobOutput(_Here(), "login", Output(self.log), self._on_replaced)
        self.output.add(str(self.file))

    async def _on_replaced(self) -> None:
        self.events.append(f"anew after {len(self.copied())} bytes")

    def copied(self) -> bytes:
        return self.log.read_bytes()

    def has_copied(self, text: bytes) -> bool:
        return self.copied() == text

    def write(self, text: bytes, mode: str = "ab") -> None:
        with self.file.open(mode) as file:
            file.write(text)

    async def until(self, holds: Callable[[], bool]) -> None:
        await asyncio.to_thread(wait_for, "the copy", holds)

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """While its output is followed; at the end all of it is copied."""
        running = asyncio.create_task(self.output.run())
        try:
            yield
            await self.output.finish(60)
            await asyncio.wait_for(running, 60)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


class _Here(Commands):
    """The far host is this machine, whose login shell is talkative."""

    def __init__(self) -> None:
        async def no_ssh(*_: object) -> object:
            raise AssertionError

        super().__init__(no_ssh, None, self._argv)
        self.started = 0

    async def _argv(self, ssh: str, argv: list[str]) -> list[str]:
        self.started += 1
        return [
            "sh",
            "-c",
            'echo Welcome!; shift; exec "$@"',
            "sh",
            argv[0],
            sys.executable,
            *argv[1:],
        ]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    return Job(tmp_path, monkeypatch)


async def test_existing_and_appended_output_is_copied(job: Job) -> None:
    text = b"a\xff\n" * 200_000
    job.write(text)
    async with job.followed():
        await job.until(lambda: job.copied() == text)
        job.write(b"more\n")
        await job.until(lambda: job.copied() == text + b"more\n")
        job.write(b"the last line")
    assert job.copied() == text + b"more\nthe last line"
    assert job.events == []
    assert job.output._commands.started == 1


async def test_file_created_at_the_start_of_the_job_is_copied(job: Job) -> None:
    async with job.followed():
        job.write(b"begun\n")
        await job.until(lambda: job.copied() == b"begun\n")


@pytest.mark.parametrize("second", [b"2\n", b"a second run that says more than the first one\n"])
async def test_emptied_or_replaced_file_is_copied_again(job: Job, second: bytes) -> None:
    """By SLURM, which starts the job again, by the user, or by a rotation of logs."""
    job.write(b"the first run\n")
    async with job.followed():
        await job.until(lambda: job.copied() == b"the first run\n")
        job.write(second, "wb")
        await job.until(lambda: job.copied().endswith(second))
        job.file.rename(job.file.with_suffix(".1"))
        job.write(b"rotated")
    assert job.copied() == b"the first run\n" + REPLACED + second + REPLACED + b"rotated"
    assert job.events[0] == "anew after 14 bytes"


async def test_lost_link_neither_loses_nor_repeats_output(job: Job) -> None:
    text = b""
    async with job.followed():
        for number in range(4):
            piece = b"%d\n" % number * 30_000
            text += piece
            job.write(piece)
            await job.until(lambda: job.output._process is not None)
            # In the middle of what it says, or after it.
            if number % 2:
                await job.until(partial(job.has_copied, text))
            process = job.output._process
            if process is not None and process.returncode is None:
                process.kill()
    assert job.copied() == text
    assert job.output._commands.started > 1


async def test_second_file_is_copied(job: Job, tmp_path: Path) -> None:
    job.write(b"out\n")
    errors = tmp_path / "errors"
    errors.write_bytes(b"err\n")
    async with job.followed():
        await job.until(lambda: job.copied() == b"out\n")
        job.output.add(str(errors))
        await job.until(lambda: job.copied() == b"out\nerr\n")


async def test_follower_ends_with_its_input(job: Job) -> None:
    """A follower whose link is cut must not stay on the login node."""
    job.write(b"x")
    running = asyncio.create_task(job.output.run())
    await job.until(lambda: job.copied() == b"x")
    process = job.output._process
    assert process is not None and process.stdin is not None
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 60) == 0
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def news(file: FollowedFile, times: int, now: float = 0.0) -> list[list[tuple[str, bytes]]]:
    return [file.new_frames(file.since + now, False) for _ in range(times)]


def test_another_login_node_may_see_less_of_a_file_for_a_while(tmp_path: Path) -> None:
    path = tmp_path / "o"
    path.write_bytes(b"fi")
    file = FollowedFile(str(path), 5, b"first")
    assert news(file, 9) == [[]] * 9
    path.write_bytes(b"first more")
    assert news(file, 2) == [[("D", b" more")], []]
    path.write_bytes(b"fi")
    stale = FollowedFile(str(path), 5, b"first")
    assert news(stale, 2, STALE_S + 1) == [[("N", b"")], [("D", b"fi")]]


def test_momentary_mismatch_is_not_taken_for_a_new_file(tmp_path: Path) -> None:
    """A file server may show a hole where another machine has just written."""
    path = tmp_path / "o"
    path.write_bytes(b"first")
    file = FollowedFile(str(path), 0, b"")
    assert news(file, 1) == [[("D", b"first")]]
    path.write_bytes(b"\0\0\0\0\0 more")
    assert news(file, DOUBTS - 1) == [[]] * (DOUBTS - 1)
    path.write_bytes(b"first more")
    assert news(file, 1) == [[("D", b" more")]]


def test_no_doubt_remains_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "o"
    path.write_bytes(b"other text")
    file = FollowedFile(str(path), 5, b"first")
    file.restarted = True
    assert news(file, 2) == [[("N", b"")], [("D", b"other text")]]
    path.write_bytes(b"other text, appended to")
    file.restarted = True
    assert news(file, 1) == [[("D", b", appended to")]]


async def test_invalid_frame_is_rejected() -> None:
    """A changed host must not fill the memory of the supervisor."""
    stream = asyncio.StreamReader()
    stream.feed_data(b"D 0 %d\n" % (PIECE + 1))
    stream.feed_eof()
    with pytest.raises(ValueError, match="too long"):
        await anext(job_output._frames(stream))
