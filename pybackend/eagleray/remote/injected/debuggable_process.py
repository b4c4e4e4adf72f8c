"""A process of the run that can be debugged: whether the run selects it, its files with breakpoints, its debug proxy."""

from __future__ import annotations

import os
import sys
import threading

from . import run_folder
from .debugpy.debugger import DebugpyServer, hide
from .debugpy.errors import DebugpyInUse, DebugpyMissing, DebugpyNotStarted
from .file_copies import BreakpointFiles, loaded_files, located
from .guard import never_raise, report_once
from .settings import breakpoint_paths, mark_selected
from .unpickling import UnpicklingHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from .debug_proxy import handle
    from .import_hook import ImportHook
    from .settings import RunSettings

GO_S = 2.0


class DebuggableProcess:
    """One for the whole process; threads of the program call it, and the thread that reads from the debug proxy.

    `matches` is None until it is known whether the run selects the process; files that are found before wait for that.
    With each of these, `reconsider` is asked whether it is known now.
    `describe` returns what the debug proxy announces about the process, `host` the address at which it listens, and
    `is_findable` whether a client can find it.
    """

    def __init__(self, settings: RunSettings, kind: str, import_hook: ImportHook) -> None:
        self.settings = settings
        self.kind = kind
        self.matches: bool | None = None
        # Replaced as a whole when files are added; `_answered` are those for which a wait has ended.
        self.files: dict[str, str] = {}
        self._answered = self.files
        self.debugger = DebugpyServer(settings.debugpy, settings.children)
        self.reconsider: Callable[[], bool | None] = lambda: None
        self.describe: Callable[[], dict[str, Any]] = dict
        self.host: Callable[[], str] = lambda: "127.0.0.1"
        self.announce: Callable[[int], object] = lambda port: None
        self.file: Callable[[], str] = str
        self.is_findable: Callable[[], bool] = lambda: True
        # The identity of the error at which post-mortem has stopped last, which may be reported again further up.
        self.last_failure: object = None
        self._import_hook = import_hook
        self._proxy: handle.ProxyHandle | None = None
        self._opening = threading.Lock()
        self._turn = threading.Lock()
        self._state = threading.Lock()
        self._waiting = 0
        self._question = 0
        self._is_shut = False
        self._is_alone = False
        self._wanted = threading.Event()
        self._go = threading.Event()
        self._inside = threading.local()
        self._code: set[tuple[str, str]] = set()
        self._breakpoint_files = BreakpointFiles(settings.paths)
        import_hook.stems = self._breakpoint_files.stems
        import_hook.on_import = self.add_code
        UnpicklingHook(never_raise(self.add_code)).install(import_hook)
        os.register_at_fork(after_in_child=lambda: self._forked())

    # --- called by the program's threads ---------------------------------------------------------

    def decide(self, matches: bool | None) -> None:
        """Sets whether the run selects this process; if so, a process with breakpoints waits here for its debugger."""
        self.matches = matches
        if not matches:
            return
        if self.files and self.files is not self._answered:
            self.wait_for_debugger("files")
        else:
            self.open_soon()

    def add_code(self, file: str, module: str = "") -> None:
        """Adds a file of which code is about to run: a module, the main file, or a function that came without its module."""
        file = located(file)
        # Such code is in no list of modules, or only later, and breakpoints may change meanwhile.
        self._code.add((file, module))
        path = self._breakpoint_files.path_of(file, module)
        if path:
            self._add_files({path: file})

    def wait_for_debugger(self, why: str, seconds: float | None = -1) -> bool:
        """Waits until a debugger is attached and has set the breakpoints; False if none came, so the program continues."""
        if getattr(self._inside, "waits", False):
            return False
        limit = self.settings.wait_s if seconds == -1 else seconds
        # A thread that waits without a limit must not make the others do so.
        if not self._turn.acquire(timeout=-1 if limit is None else limit):
            return False
        self._inside.waits = True
        try:
            return self._wait(why, limit)
        # The program would take it for its own error, in the line that loads a class or imports a module.
        except Exception as error:
            report_once("waiting", error)
            return False
        finally:
            self._inside.waits = False
            self._turn.release()

    @property
    def has_proxy(self) -> bool:
        return self._proxy is not None

    def open_soon(self) -> None:
        """Opens the debug proxy in a thread, so that the program doesn't wait."""
        if self._proxy is None:
            # Not in the thread: a process that is forked meanwhile would have half of a module, and its lock.
            from .debug_proxy import handle  # noqa: F401

            thread = threading.Thread(target=never_raise(self.open), name="Eagleray")
            hide(thread)
            thread.start()

    def open(self) -> handle.ProxyHandle:
        """The debug proxy, which is started if necessary; raises OSError."""
        # Most processes open none and don't need these modules.
        from .debug_proxy import handle

        with self._opening:
            if self._proxy is None:
                run = self.settings
                proxy = handle.start_proxy(
                    run.run, run.verifier, run.hold_s, self.host(), self._info(), self.file()
                )
                proxy.serve(never_raise(self._on_line))
                self._proxy = proxy
                self.announce(proxy.port)
            return self._proxy

    def send_info(self) -> None:
        """Sends the changed description of this process to the debug proxy."""
        if self._proxy is not None:
            self._proxy.send("who", **self._info())

    def report_problem(self, code: str, text: str) -> None:
        if self._proxy is not None:
            self._proxy.send("problem", code=code, text=text)

    # --- internal ----------------------------------------------------------------------------------

    def _info(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "image": run_folder.image_mark(),
            "kind": self.kind,
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "cwd": os.getcwd(),
            "matches": self.matches is not False,
            "files": self.files,
            **self.describe(),
        }

    def _add_files(self, files: dict[str, str]) -> None:
        new = {path: file for path, file in files.items() if path not in self.files}
        if new:
            self.files = {**self.files, **new}
        if self.matches is None:
            self.matches = self.reconsider()
        # Another thread may wait for this file, which this one must not run before.
        if self.matches and self.files is not self._answered:
            self.wait_for_debugger("files")

    def _wait(self, why: str, seconds: float | None) -> bool:
        files = self.files
        if why == "files" and files is self._answered:
            return self.debugger.is_attached
        if not self.is_findable():
            return False
        try:
            return self._wait_findable(why, seconds)
        finally:
            if why == "files":
                self._answered = files

    def _wait_findable(self, why: str, seconds: float | None) -> bool:
        came = False
        with self._state:
            # Before a client can ask: the thread that reads must not import debugpy while this one is in an import,
            # such as the import of `site`, and waits for it.
            self._waiting += 1
        try:
            proxy = self.open()
            if self._is_shut:
                return False
            if self.debugger.is_attached:
                if why == "files":
                    self._go.clear()
                    self._question += 1
                    proxy.send("files", files=self.files, wait=self._question)
                    self._go.wait(GO_S)
                return True
            if self._is_alone and seconds is not None:
                proxy.send("files", files=self.files)
                return False
            proxy.send("waiting", why=why, files=self.files)
            # Without a debugger that has announced itself debugpy is not even imported.
            came = self.debugger.is_listening or self._wanted.wait(seconds)
            if came and not self._is_shut and self._listen():
                self._say_listening(proxy)
                if self.debugger.wait(seconds):
                    self.debugger.trace_this_thread(True)
                    proxy.send("debugging")
                    return True
            # If no debugger came once, the next file or failure doesn't wait again.
            self._is_alone = True
            proxy.send("free")
            return False
        finally:
            with self._state:
                self._waiting -= 1
                is_late = self._wanted.is_set() and not came
                self._wanted.clear()
            if is_late and not self._is_shut:
                # It has asked since, and nothing else answers.
                self._is_alone = False
                if self._listen():
                    self._say_listening(self.open())

    def _listen(self) -> bool:
        self.debugger.changes_commands = not run_folder.proxy_path(self.settings)
        try:
            self.debugger.listen()
            if self.settings.children:
                mark_selected(os.environ)
            if self.debugger.children and self.debugger.changes_commands:
                # Without it debugpy writes a warning to the output of each process whose command it changes (1.8.22,
                # `pydevd_file_utils.py`).
                os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
            return True
        except DebugpyMissing as error:
            self.report_problem("no-debugpy", str(error))
        except DebugpyInUse as error:
            self.report_problem("debugpy-in-use", str(error))
        except DebugpyNotStarted as error:
            self.report_problem("debugpy-failed", str(error))
        # debugpy may raise anything; the program continues without it.
        except Exception as error:
            self.report_problem("debugpy-failed", repr(error))
        return False

    def _say_listening(self, proxy: handle.ProxyHandle) -> None:
        """Passes the channel of debugpy's clients to the debug proxy the first time, which then has the only copy."""
        channel = self.debugger.take_channel()
        try:
            passing = [channel.fileno()] if channel is not None else []
            proxy.send("listening", passing=passing, debugpy=self.debugger.version)
        finally:
            if channel is not None:
                channel.close()

    def _on_line(self, line: dict[str, Any]) -> None:
        op = line.get("op")
        self._is_alone = False
        if op == "gone":
            # No debugger can come any more, so nothing waits for one.
            self._is_shut = True
            self._wanted.set()
            self._go.set()
        elif op == "go":
            # An answer to an earlier question, or to the attach, doesn't cover the newest files.
            if line.get("asked", self._question) == self._question:
                self._go.set()
        elif op == "breakpoints":
            self._breakpoint_files = BreakpointFiles(breakpoint_paths(line.get("breakpoints")))
            self._import_hook.stems = self._breakpoint_files.stems
            self.files = self._breakpoint_files.matching([*self._code, *loaded_files()])
            if self._proxy is not None:
                self._proxy.send("files", files=self.files)
        elif op == "debug":
            with self._state:
                self._wanted.set()
                if self._waiting:
                    return
            if self._listen() and self._proxy is not None:
                self._say_listening(self._proxy)

    @never_raise
    def _forked(self) -> None:
        """A child has neither the threads nor the debug proxy of its parent; with `children` it gets a proxy of its own."""
        is_free = (
            self.matches is not False and not self.debugger.is_listening and not is_about_to_exec()
        )
        is_wanted = self.settings.children and is_free
        self._proxy = None
        self._is_shut = self._is_alone = False
        self._waiting = 0
        self._opening, self._state = threading.Lock(), threading.Lock()
        self._turn = threading.Lock()
        self._wanted, self._go = threading.Event(), threading.Event()
        self._inside = threading.local()
        if is_wanted:
            self.kind = "child"
            # Ray's table of workers has the parent only.
            self.announce = lambda port: None
            self.file = lambda: run_folder.proxy_path(self.settings)
            self.is_findable = lambda: bool(self.file())
            self._answered = {}
            if self.matches:
                self.decide(True)
        else:
            if not self.debugger.children:
                self.debugger.forget()
            self.matches = False
            self._import_hook.stems = set()
            self._import_hook.on_import = lambda file, name: None


def is_about_to_exec() -> bool:
    """Whether `subprocess` has forked for a `preexec_fn`: that child becomes another program at once."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != "subprocess":
        frame = frame.f_back
    return frame is not None
