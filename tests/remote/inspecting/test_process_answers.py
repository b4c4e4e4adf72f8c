"""A process's answers about itself: exceptions, awaited tasks and collectives; and invalid answers."""

import asyncio
import functools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.inspecting.inside import awaited
from eagleray.remote.inspecting.inside.answers import Answers
from eagleray.remote.inspecting.process_answers import (
    READY,
    WAITS,
    ProcessReading,
    raw_reading,
    raw_readings,
    reading_of,
)
from eagleray.remote.sampling import proc


@contextmanager
def running(work: Callable[[Callable[[], None], threading.Event], None]) -> Iterator[None]:
    """Runs `work(ready, end)` in a thread that waits once it is ready."""
    ready, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, args=(ready.set, end))
    thread.start()
    assert ready.wait(10)
    try:
        yield
    finally:
        end.set()
        thread.join()


def reading(**answers: Any) -> ProcessReading:
    return reading_of({"exceptions": [], "awaits": [], "record": {}, **answers})


def asked(op: str) -> ProcessReading:
    """Returns the answers of the tests' process."""
    return reading(**Answers().answer({"op": op}))


def test_handled_exception_has_the_line_that_raised_it_and_its_first_cause() -> None:
    def work(ready: Callable[[], None], end: threading.Event) -> None:
        try:
            try:
                raise ValueError("shape of microbatch 3", {"secret": object()})
            finally:
                raise ConnectionError("peer is gone")
        except ConnectionError:
            ready()
            end.wait()

    with running(work):
        told = asked("exceptions").exceptions
    (held,) = [each for each in told if not each.variable]
    assert held.causes[0].text == "ConnectionError('peer is gone')"
    assert held.causes[-1].kind == "ValueError"
    assert held.causes[-1].text.startswith(
        "ValueError('shape of microbatch 3', {'secret': <builtins"
    )
    assert held.causes[-1].frames[-1].function.endswith("work")
    assert Path(held.causes[-1].frames[-1].file).name == Path(__file__).name


class Retry:
    """Keeps the exception of its last attempt."""

    def __init__(self) -> None:
        self.last = RuntimeError("CUDA error")

    def wait(self, ready: Callable[[], None], end: threading.Event) -> None:
        ready()
        end.wait()


def test_exceptions_in_variables_and_attributes_are_told_by_name() -> None:
    def work(ready: Callable[[], None], end: threading.Event) -> None:
        error = KeyError("prompt")
        Retry().wait(ready, end)
        del error

    with running(work):
        told = asked("exceptions").exceptions
    named = {held.variable: held.causes[0].text for held in told}
    assert named["error"] == "KeyError('prompt')"
    assert named["self.last"] == "RuntimeError('CUDA error')"


class Impostor:
    """Runs code of the program when it is asked for its class, for equality or for its text."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def __repr__(self) -> str:
        raise AssertionError

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    __hash__ = None  # type: ignore[assignment]


def test_objects_of_the_program_are_not_asked() -> None:
    def work(ready: Callable[[], None], end: threading.Event) -> None:
        impostor = Impostor()
        error = ValueError(impostor)
        ready()
        end.wait()
        del error

    with running(work):
        told = asked("exceptions").exceptions
    (held,) = [each for each in told if each.variable == "error"]
    assert "Impostor at 0x" in held.causes[0].text


async def generate(tokens: "asyncio.Queue[int]") -> int:
    return await tokens.get()


async def streamed(tokens: "asyncio.Queue[int]") -> Any:
    while True:
        yield await tokens.get()


async def collected(tokens: "asyncio.Queue[int]") -> None:
    async for _token in streamed(tokens):
        pass


async def rollout(ready: Callable[[], None], end: threading.Event) -> None:
    tokens: asyncio.Queue[int] = asyncio.Queue()
    answers = [asyncio.create_task(generate(tokens), name=f"answer-{index}") for index in range(8)]
    answers.append(asyncio.create_task(collected(tokens), name="stream"))
    last = asyncio.create_task(asyncio.wait_for(asyncio.shield(answers[0]), 60), name="waiter")
    asyncio.get_running_loop().call_soon(ready)
    await asyncio.to_thread(end.wait)
    for task in (*answers, last):
        task.cancel()
    await asyncio.gather(*answers, last, return_exceptions=True)


def test_tasks_that_await_the_same_are_one_chain() -> None:
    with running(lambda ready, end: asyncio.run(rollout(ready, end))):
        chains = asked("awaits").awaits
    first = chains[0]
    assert (first.state, first.tasks) == (WAITS, 8)
    assert len(first.names) == awaited.MOST_NAMES and first.names[0].startswith("answer-")
    assert [frame.function.rpartition(".")[2] for frame in first.frames] == ["generate", "get"]
    assert first.waits_for == "Future"
    stream = next(chain for chain in chains if chain.names == ("stream",))
    functions = [frame.function.rpartition(".")[2] for frame in stream.frames]
    assert functions == ["collected", "streamed", "get"]


class Compiled:
    """A coroutine of Cython, whose attributes are C."""

    __slots__ = ("cr_await",)


async def test_coroutine_behind_compiled_code_is_read() -> None:
    tokens: asyncio.Queue[int] = asyncio.Queue()
    coroutine = generate(tokens)
    outer, unset = Compiled(), Compiled()
    outer.cr_await = coroutine.__await__()
    coroutine.send(None)
    frames = [frame.f_code.co_name for _, frame in awaited._awaited(outer)]
    assert frames[0] == "generate" and len(frames) > 1
    outer.cr_await = outer
    assert awaited._awaited(outer) == awaited._awaited(unset) == []
    coroutine.close()


def test_task_that_waits_only_for_its_turn_is_ready() -> None:
    async def busy(ready: Callable[[], None], end: threading.Event) -> None:
        turn = asyncio.create_task(asyncio.sleep(0), name="turn")
        ready()
        # The loop itself is kept from continuing.
        end.wait()
        await turn

    with running(lambda ready, end: asyncio.run(busy(ready, end))):
        states = {chain.names[0]: chain.state for chain in asked("awaits").awaits}
    assert states.pop("turn") == READY
    assert list(states.values()) == ["runs"]


def test_process_without_asyncio_and_torch_has_no_tasks_and_no_record() -> None:
    with started("import time; time.sleep(600)") as pid:
        told = reading_of(raw_reading(pid))
    assert (told.reason, told.awaits, told.record) == ("", (), "")


def test_process_answers_with_its_exception() -> None:
    text = "\n".join(
        [
            "import time",
            "try:",
            "    raise ValueError('shape 3')",
            "except ValueError:",
            "    time.sleep(600)",
        ]
    )
    with started(text) as pid:
        told = reading_of(raw_reading(pid))
    assert [held.causes[0].text for held in told.exceptions] == ["ValueError('shape 3')"]
    assert told.exceptions[0].is_main


HOLDING = "import re; print('ready', flush=True); re.match('(a+)+$', 'a' * 60 + 'b')"


@pytest.fixture
def holding() -> Iterator[int]:
    """A process whose native code never releases the GIL."""
    with subprocess.Popen([sys.executable, "-c", HOLDING], stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        yield process.pid
        process.kill()


def test_process_that_takes_too_long_costs_only_its_own_answer(holding: int) -> None:
    answers = raw_readings([holding, 2**30], limit_s=0.2)
    assert answers == [{"reason": "timeout"}, {"reason": "ended"}]


def test_process_that_cannot_answer_has_the_record_that_pytorch_serves(
    holding: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {"version": "2.10", "pg_status": {}, "entries": []}
    served = {holding: record, 2**30: record}
    monkeypatch.setattr("eagleray.remote.inspecting.process_answers.served_record", served.get)
    answers = raw_readings([2**30], [holding])
    assert answers == [
        {"reason": "ended", "record": record},
        {"reason": "gil-held", "record": record},
    ]
    assert json.loads(reading_of(answers[1]).record) == record


def test_cancelled_readings_leave_no_thread_borrowed(holding: int) -> None:
    def wait(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        raw_readings([holding], wait=wait)
    process = proc.stat(holding)
    assert process is not None and process.state == "R"


def test_process_that_has_ended_gives_a_reason() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert reading_of(raw_reading(process.pid)).reason in ("ended", "no-answer")


HELD = {"is_main": True, "variable": "", "frame": {"function": "f", "path": "p", "line": 1}}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "text",
        {"reason": 3},
        {"exceptions": [{**HELD, "causes": []}]},
        {"exceptions": [{**HELD, "causes": [{"type": "E", "text": 1, "frames": []}]}]},
        {"exceptions": [None] * 5000},
        {"awaits": [{"state": "flies", "count": 1, "names": [], "frames": [], "waits_for": ""}]},
        {"awaits": [{"state": "waits", "count": -1, "names": [], "frames": [], "waits_for": ""}]},
        {"awaits": {"state": "waits"}},
    ],
)
def test_answer_that_is_none_is_not_believed(answer: object) -> None:
    assert reading_of(answer) == ProcessReading("no-answer")


@contextmanager
def started(text: str) -> Iterator[int]:
    """The pid of a Python that runs `text`, once it sleeps."""
    process = subprocess.Popen([sys.executable, "-c", text])
    try:
        while not is_asleep(process.pid):
            assert process.poll() is None
            threading.Event().wait(0.02)
        yield process.pid
    finally:
        process.kill()
        process.wait()


is_asleep = functools.partial(lambda pid: "nanosleep" in proc.waits_in(pid))
