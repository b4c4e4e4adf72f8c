"""The HTTP clients whose requests are recorded: of httpx, of `http.client` and what is built on it, and of aiohttp."""

from __future__ import annotations

import concurrent.futures
import functools
import sys

from .after_import import AfterImport
from .aiohttp_recording import AiohttpRecording
from .http_client_recording import HttpClientRecording
from .http_recording import HttpRecord, HttpRecorder, current_run
from .httpx_recording import HttpxRecording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# With a name that the module has once its import has ended.
_MODULES: dict[str, tuple[str, Callable[[Any, HttpRecorder], object]]] = {
    "httpx": ("AsyncClient", HttpxRecording),
    "httpx2": ("AsyncClient", HttpxRecording),
    "http.client": ("HTTPConnection", HttpClientRecording),
    "aiohttp": ("ClientSession", AiohttpRecording),
}


class _Recorders:
    """The one of this process; a process that was forked from one that records has its wrappers and its recorder."""

    current: HttpRecorder | None = None


def record_clients(base_url: str) -> HttpRecorder:
    """Records clients, also those in modules that are imported later."""
    if _Recorders.current is not None:
        return _Recorders.current
    recorder = _Recorders.current = HttpRecorder()
    wrapped: set[str] = set()

    def wrap(_: str = "") -> None:
        for name, (last, recording) in _MODULES.items():
            module = sys.modules.get(name)
            if name not in wrapped and hasattr(module, last):
                wrapped.add(name)
                recording(module, recorder)

    sys.meta_path.insert(0, AfterImport(tuple(_MODULES), wrap))
    wrap()
    _pass_runs_to_threads()
    recorder.unobserved.watch(base_url)
    return recorder


def _pass_runs_to_threads() -> None:
    """`to_thread` gives a thread the context of its caller, `run_in_executor` and other pools don't."""
    pool: Any = concurrent.futures.ThreadPoolExecutor
    original = pool.submit

    @functools.wraps(original)
    def submit(executor: Any, call: Any, /, *args: Any, **kwargs: Any) -> Any:
        run = current_run.get()
        if run is None:
            return original(executor, call, *args, **kwargs)
        return original(executor, _of_run, run, call, *args, **kwargs)

    pool.submit = submit


def _of_run(run: HttpRecord, call: Any, /, *args: Any, **kwargs: Any) -> Any:
    token = current_run.set(run)
    try:
        return call(*args, **kwargs)
    finally:
        current_run.reset(token)
