"""Classes and functions that a worker loads, with a stand-in for Ray's FunctionActorManager."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import types
from collections import namedtuple
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected import guard, ray_worker
from eagleray.remote.injected.debuggable_process import DebuggableProcess
from eagleray.remote.injected.hooks.actor_creation import may_create
from eagleray.remote.injected.hooks.class_loading import EXTENDED, LoadingHook
from eagleray.remote.injected.import_hook import ImportHook
from eagleray.remote.injected.settings import RunSettings

Info = namedtuple("Info", ["function", "function_name", "max_calls"])


class Manager:
    def load_actor_class(self, job_id: object, actor_creation_function_descriptor: Any) -> type:
        return Manager

    def get_execution_info(self, job_id: object, function_descriptor: Any) -> Info:
        return Info(lambda: function_descriptor.function_name, "f", 0)


class Tracing:
    """Keeps what the process is asked to trace."""

    def __init__(self) -> None:
        self.asked: list[bool] = []
        self.trace_this_thread = self.asked.append
        self.is_listening = self.children = False
        self.forget = lambda: None


@pytest.fixture
def module() -> types.ModuleType:
    found = types.ModuleType("ray._private.function_manager")
    manager = type("Manager", (), {name: getattr(Manager, name) for name in EXTENDED})
    vars(found).update(FunctionActorManager=manager, FunctionExecutionInfo=Info)
    return found


def process_of(**settings: Any) -> tuple[DebuggableProcess, Tracing]:
    process = DebuggableProcess(RunSettings(settings), "worker", ImportHook())
    tracing = Tracing()
    vars(process).update(debugger=tracing, open_soon=lambda: None)
    return process, tracing


def function(name: str) -> Any:
    return types.SimpleNamespace(function_name=name, module_name="prog")


def test_each_call_is_selected_by_its_own_function(module: types.ModuleType) -> None:
    process, tracing = process_of(workers=["step"])
    LoadingHook(process).extend(module)
    manager = module.FunctionActorManager()
    step, other = (manager.get_execution_info("job", function(name)) for name in ("step", "other"))
    for info in (step, step, other, step):
        assert info.function() == info[0]()
    assert tracing.asked == [True, True, False, True]
    assert isinstance(step, Info) and (step.function_name, step.max_calls) == ("f", 0)


def test_class_of_another_actor_does_not_select_this_worker(
    module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _ = process_of(workers=["Policy"])
    LoadingHook(process).extend(module)
    manager = module.FunctionActorManager()
    named = types.SimpleNamespace(class_name="Policy", module_name="prog")
    monkeypatch.setattr(ray_worker, "becomes_actor", lambda: False)
    manager.load_actor_class("job", named)
    assert process.matches is None
    monkeypatch.setattr(ray_worker, "becomes_actor", lambda: True)
    manager.load_actor_class("job", named)
    assert process.matches is True


def test_rank_that_becomes_known_later_selects_the_worker(
    module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANK", raising=False)
    process, tracing = process_of(ranks=[1])
    LoadingHook(process).extend(module)
    info = module.FunctionActorManager().get_execution_info("job", function("step"))
    info.function()
    monkeypatch.setenv("RANK", "1")
    info.function()
    assert tracing.asked == [False, True]


def test_ray_with_other_functions_is_not_extended(
    module: types.ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_actor_class(self: object, something_else: object) -> None: ...

    module.FunctionActorManager.load_actor_class = load_actor_class
    before = dict(vars(module.FunctionActorManager))
    monkeypatch.setattr(guard, "_reported", set())
    process, _ = process_of()
    for _ in range(2):
        guard.never_raise(LoadingHook(process).extend)(module)
    assert dict(vars(module.FunctionActorManager)) == before
    assert capsys.readouterr().err.count("eagleray: ") == 1


def test_code_that_creates_actors_is_recognised() -> None:
    class Creates:
        def run(self) -> Any:
            return [make.remote() for make in ()]

    class Derived(Creates): ...

    class Plain:
        def run(self) -> int:
            return 1

    assert (may_create(Creates), may_create(Derived), may_create(Plain)) == (True, True, False)
    assert may_create(Creates.run) and not may_create(len)


def test_child_that_becomes_another_program_is_recognised() -> None:
    process, _ = process_of(children=True)
    process.matches = True
    reading, writing = os.pipe()
    with open(reading, "rb") as said, open(writing, "wb", buffering=0) as saying:  # noqa: PTH123
        subprocess.run(
            [sys.executable, "-c", ""],
            preexec_fn=lambda: saying.write(b"in" if process.matches else b"out") and None,
            check=True,
        )
        saying.close()
        assert said.read() == b"out"


def test_breakpoints_that_change_while_a_module_waits_apply_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an adapter tells them that has come because of the waiting; the module is in no list of modules yet."""
    (tmp_path / "on_its_way.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = str(tmp_path / "on_its_way.py")
    lines = [{"path": path, "lines": [{"line": 1}]}]
    process, _ = process_of(breakpoints=lines)
    process.matches = True
    told = []

    def wait(why: str) -> None:
        process._on_line({"op": "breakpoints", "breakpoints": lines})
        told.append(dict(process.files))

    monkeypatch.setattr(process, "wait_for_debugger", wait)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(SourceFileLoader, "get_code", SourceFileLoader.get_code)
    process._import_hook.install()
    importlib.import_module("on_its_way")
    assert told == [{path: path}]
