"""The import hook reports and extends modules without side effects."""

from __future__ import annotations

import _imp
import importlib
import importlib.util
import pkgutil
import runpy
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path

import pytest
from eagleray.remote.injected.import_hook import ImportHook

NAME = "arrives_here"


@pytest.fixture
def arrivals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImportHook]:
    monkeypatch.syspath_prepend(tmp_path)
    found = ImportHook()
    found.stems = {NAME}
    monkeypatch.setattr(SourceFileLoader, "get_code", SourceFileLoader.get_code)
    monkeypatch.setattr(pkgutil, "read_code", pkgutil.read_code)
    found.install()
    yield found
    sys.meta_path.remove(found)
    sys.modules.pop(NAME, None)


def test_thread_that_waits_in_a_module_does_not_block_other_imports(
    arrivals: ImportHook, tmp_path: Path
) -> None:
    (tmp_path / f"{NAME}.py").write_text("HERE = 1\n")
    (tmp_path / "another_module.py").write_text("")
    seen = []

    def see(file: str, name: str) -> None:
        other = threading.Thread(target=importlib.import_module, args=("another_module",))
        other.start()
        other.join(30)
        seen.append((file, name, other.is_alive(), _imp.lock_held()))

    arrivals.on_import = see
    module = importlib.import_module(NAME)
    assert seen == [(str(tmp_path / f"{NAME}.py"), NAME, False, False)]
    assert type(module.__loader__).__module__ == "_frozen_importlib_external"
    assert module.__spec__ is not None and module.__spec__.loader is module.__loader__


def test_traceback_of_a_failing_module_has_no_frame_of_ours(
    arrivals: ImportHook, tmp_path: Path
) -> None:
    (tmp_path / f"{NAME}.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError) as raised:
        importlib.import_module(NAME)
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert not [frame for frame in frames if frame.filename.endswith("run/arriving.py")]


def test_module_is_reported_however_it_is_run(arrivals: ImportHook, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.py").write_text("HERE = 1\n")
    seen: list[str] = []
    arrivals.on_import = lambda file, name: seen.append(name)
    assert importlib.util.find_spec(NAME) is not None and not seen
    assert runpy.run_module(NAME)["HERE"] == 1
    assert seen == [NAME]
    importlib.reload(importlib.import_module(NAME))
    assert seen == [NAME] * 3


def test_module_of_a_finder_that_came_later_is_reported(
    arrivals: ImportHook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pytest's finder, which finds modules of tests alone."""
    (tmp_path / f"{NAME}.py").write_text("HERE = 1\n")

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object, target: object = None) -> ModuleSpec | None:
            return PathFinder.find_spec(name) if name == NAME else None

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    seen: list[str] = []
    arrivals.on_import = lambda file, name: seen.append(name)
    assert importlib.util.find_spec("no_such_module") is None
    importlib.import_module(NAME)
    assert seen == [NAME] and sys.meta_path[1] is Finder


def test_file_that_is_loaded_without_a_search_is_reported(
    arrivals: ImportHook, tmp_path: Path
) -> None:
    """As verl loads the user's reward function, under a name of its own."""
    file = tmp_path / f"{NAME}.py"
    file.write_text("HERE = 1\n")
    seen: list[tuple[str, str]] = []
    arrivals.on_import = lambda *given: seen.append(given)
    spec = importlib.util.spec_from_file_location("custom_module", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    assert not seen
    spec.loader.exec_module(module)
    assert module.HERE == 1 and seen == [(str(file), "custom_module")]


def test_file_that_runs_without_an_import_is_reported_before(
    arrivals: ImportHook, tmp_path: Path
) -> None:
    """As memray and debugpy run a program."""
    file = tmp_path / f"{NAME}.py"
    file.write_text("HERE = 1\n")
    seen: list[tuple[str, str]] = []
    arrivals.on_import = lambda *given: seen.append(given)
    assert runpy.run_path(str(file))["HERE"] == 1
    assert seen == [(str(file), "")]


def test_traceback_of_a_syntax_error_has_no_frame_of_ours(
    arrivals: ImportHook, tmp_path: Path
) -> None:
    (tmp_path / f"{NAME}.py").write_text("HERE = \n")
    with pytest.raises(SyntaxError) as caught:
        exec(f"import {NAME}")
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.filename for frame in frames] == [__file__, "<string>"]


def test_module_that_is_only_searched_for_is_extended_when_it_is_imported(
    arrivals: ImportHook, tmp_path: Path
) -> None:
    (tmp_path / f"{NAME}.py").write_text("HERE = 1\n")
    extended: list[types.ModuleType] = []
    arrivals.after(NAME, extended.append)
    importlib.util.find_spec(NAME)
    module = importlib.import_module(NAME)
    assert extended == [module] and module.HERE == 1
