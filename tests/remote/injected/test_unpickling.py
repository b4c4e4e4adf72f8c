"""Functions that arrive in a pickle are looked up by their file, in any object and with any unpickler."""

from __future__ import annotations

import functools
import pickle
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import ray.cloudpickle
from eagleray.remote.injected.hooks.class_loading import LoadingHook
from eagleray.remote.injected.unpickling import UnpicklingHook

from tests.remote.injected.test_class_loading import function, process_of
from tests.remote.injected.test_class_loading import module as module

CLOUDPICKLE = ray.cloudpickle.cloudpickle


def shapes() -> dict[str, Any]:
    """Objects with code that pickles carry with them, since it is in no module."""
    secret = 1

    def closure(number: int) -> int:
        return number + secret

    def fresh() -> list[int]:
        return [secret]

    class Thing:
        def __call__(self) -> int:
            return 1

        def method(self) -> int:
            return 1

    @dataclass
    class Config:
        items: list[int] = field(default_factory=fresh)

    return {
        "lambda": lambda: 1,
        "closure": closure,
        "partial": functools.partial(closure, 1),
        "class": Thing,
        "object": Thing(),
        "bound method": Thing().method,
        "default factory": Config,
        "inside an object": {"loss": [closure]},
    }


@pytest.fixture
def arrived(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """The files and modules that Ray's cloudpickle reports."""
    monkeypatch.setattr(CLOUDPICKLE, "_function_setstate", CLOUDPICKLE._function_setstate)
    found: list[tuple[str, str]] = []
    UnpicklingHook(lambda file, name: found.append((file, name))).extend(CLOUDPICKLE)
    yield found


@pytest.mark.parametrize("shape", shapes())
def test_code_is_reported_with_its_file_and_module(
    shape: str, arrived: list[tuple[str, str]]
) -> None:
    pickle.loads(ray.cloudpickle.dumps(shapes()[shape]))
    assert (__file__, __name__) in arrived


def test_pickles_are_the_same_as_without_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CLOUDPICKLE, "_function_setstate", CLOUDPICKLE._function_setstate)
    made = shapes()["closure"]
    before = ray.cloudpickle.dumps(made)
    UnpicklingHook(lambda file, name: None).extend(CLOUDPICKLE)
    assert ray.cloudpickle.dumps(made) == before
    assert pickle.loads(before)(1) == 2


def test_earlier_cloudpickle_and_dill_are_extended() -> None:
    found = []

    def _function_setstate(obj: object, state: object) -> str:
        return "set"

    def _create_function(code: types.CodeType, namespace: dict[str, Any]) -> Callable[..., Any]:
        return types.FunctionType(code, namespace)

    for name, original in (("cloudpickle.cloudpickle_fast", _function_setstate), ("dill._dill", _create_function)):  # fmt: skip
        module = types.ModuleType(name)
        vars(module)[original.__name__] = original
        UnpicklingHook(lambda file, name: found.append(file)).extend(module)
        extended = vars(module)[original.__name__]
        assert extended is not original and extended.__module__ == original.__module__
        if original is _function_setstate:
            assert extended(shapes, None) == "set"
        else:
            assert extended(shapes.__code__, {}).__code__ is shapes.__code__
    assert found == [__file__, __file__]


def test_second_thread_waits_for_the_debugger_that_the_first_one_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process, _ = process_of(breakpoints=[{"path": __file__, "lines": [{"line": 1}]}])
    process.matches = True
    waits, may_end = threading.Event(), threading.Event()
    order = []

    def wait(why: str, seconds: float) -> bool:
        waits.set()
        order.append("debugger")
        return may_end.wait(30)

    def second() -> None:
        process.add_code(__file__)
        order.append("second")

    monkeypatch.setattr(process, "_wait_findable", wait)
    threads = [threading.Thread(target=process.add_code, args=(__file__,))]
    threads[0].start()
    assert waits.wait(30)
    threads.append(threading.Thread(target=second))
    threads[1].start()
    may_end.set()
    for thread in threads:
        thread.join()
    assert order == ["debugger", "second"]


def test_worker_that_is_not_selected_waits_once_it_runs_something_that_is(
    module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker of tasks has got the file with a breakpoint in a task that isn't selected."""
    process, _ = process_of(
        workers=["step"], breakpoints=[{"path": __file__, "lines": [{"line": 1}]}]
    )
    waits = []
    monkeypatch.setattr(process, "_wait_findable", lambda why, seconds: waits.append(why))
    LoadingHook(process).extend(module)
    manager = module.FunctionActorManager()
    step, other = (manager.get_execution_info("job", function(name)) for name in ("step", "other"))
    assert other.function() and not waits
    process.add_code(__file__)
    assert not waits
    assert step.function() and waits == ["files"]
    assert step.function() and other.function() and step.function() and waits == ["files"]
