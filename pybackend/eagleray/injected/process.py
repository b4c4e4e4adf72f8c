"""This process as a part of the run: whether it is meant, which files with breakpoints it has, and its gate."""

from __future__ import annotations

import os
import sys
import threading

from . import ray_worker
from .debugpy.debugger import Debugger, InUse, Missing, NotStarted, hide
from .file_copies import Places, code_files, loaded_files
from .guard import harmless, say
from .settings import INSIDE, paths_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from .debug_proxy import handle as gates
    from .hooks.import_hook import Arrivals
    from .settings import Settings

GO_S = 2.0


class Process:
    """One for the whole process; threads of the program call it, and one of the gate's.

    `matches` is None until it is known whether the process is meant: what is found before waits for that.
    `describe` tells the gate who this is, `host` where it may listen, `is_findable` whether anybody can see it.
    """

    def __init__(self, settings: Settings, kind: str, arrivals: Arrivals) -> None:
        self.settings = settings
        self.kind = kind
        self.matches: bool | None = None
        self.files: dict[str, str] = {}
        self.debugger = Debugger(settings.debugpy, settings.children)
        self.describe: Callable[[], dict[str, Any]] = dict
        self.host: Callable[[], str] = lambda: "127.0.0.1"
        self.announce: Callable[[gates.Gate], object] = lambda gate: None
        self.file: Callable[[], str] = str
        self.is_findable: Callable[[], bool] = lambda: True
        self._arrivals = arrivals
        self._gate: gates.Gate | None = None
        self._opening = threading.Lock()
        self._turn = threading.Lock()
        self._state = threading.Lock()
        self._waiting = 0
        self._asked = 0
        self._is_shut = False
        self._is_alone = False
        self._wanted = threading.Event()
        self._go = threading.Event()
        self._inside = threading.local()
        self._code: set[tuple[str, str]] = set()
        self._places = Places(settings.paths)
        arrivals.stems = self._places.stems
        arrivals.seen = self._arrived
        os.register_at_fork(after_in_child=lambda: self._forked())

    # --- called by the program's threads ---------------------------------------------------------

    def decide(self, matches: bool | None) -> None:
        """It is known now whether this process is meant; a process that is waits here for its debugger."""
        self.matches = matches
        if not matches:
            return
        if self.files:
            self.wait("files")
        else:
            self.open_soon()

    def look_at(self, thing: object) -> None:
        """A class or function was loaded, with all that it imports."""
        # What came without its module stands in no list of modules, so it is kept for later lines.
        self._code.update(code_files(thing))
        self._found(self._places.among([*self._code, *loaded_files()]))

    def look_at_file(self, file: str) -> None:
        """The main file is about to run."""
        self._code.add((file, ""))
        self._found(self._places.among(self._code))

    def wait(self, why: str, seconds: float | None = -1) -> bool:
        """Until a debugger is there and has set the lines; False: nobody came, the program runs on."""
        if getattr(self._inside, "waits", False):
            return False
        limit = self.settings.wait_s if seconds == -1 else seconds
        # A thread that waits without a limit must not make the others do so.
        if not self._turn.acquire(timeout=-1 if limit is None else limit):
            return False
        self._inside.waits = True
        try:
            return self._wait(why, limit)
        # The program would see it as its own, in the line that loads a class or imports a module.
        except Exception as error:
            say("waiting", error)
            return False
        finally:
            self._inside.waits = False
            self._turn.release()

    @property
    def has_gate(self) -> bool:
        return self._gate is not None

    def open_soon(self) -> None:
        """Opens the gate beside the program, which waits for nothing."""
        if self._gate is None:
            # Not in the thread: a process that is forked meanwhile would have half of a module, and its lock.
            from .debug_proxy import handle  # noqa: F401

            thread = threading.Thread(target=harmless(self.open), name="Eagleray")
            hide(thread)
            thread.start()

    def open(self) -> gates.Gate:
        """The gate, opened if it is not; raises OSError."""
        # Most processes open none, and need nothing of what it needs.
        from .debug_proxy import handle as gates

        with self._opening:
            if self._gate is None:
                run = self.settings
                proxy = gates.start(
                    run.run, run.verifier, run.hold_s, self.host(), self._who(), self.file()
                )
                proxy.serve(harmless(self._on_line))
                self._gate = proxy
                self.announce(proxy)
            return self._gate

    def tell_who(self) -> None:
        """Who this process is has changed."""
        if self._gate is not None:
            self._gate.say("who", **self._who())

    def problem(self, code: str, text: str) -> None:
        if self._gate is not None:
            self._gate.say("problem", code=code, text=text)

    # --- inside ----------------------------------------------------------------------------------

    def _who(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "kind": self.kind,
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "cwd": os.getcwd(),
            "matches": self.matches is not False,
            "files": self.files,
            **self.describe(),
        }

    def _arrived(self, file: str, name: str) -> None:
        path = self._places.of(file, name)
        if path:
            # While it waits here it is in no list of modules, and lines may be told anew meanwhile.
            self._code.add((file, name))
            self._found({path: file})

    def _found(self, found: dict[str, str]) -> None:
        new = {path: file for path, file in found.items() if path not in self.files}
        if not new:
            return
        self.files = {**self.files, **new}
        if self.matches:
            self.wait("files")

    def _wait(self, why: str, seconds: float | None) -> bool:
        if not self.is_findable():
            return False
        proxy = self.open()
        if self._is_shut:
            return False
        if self.debugger.is_attached:
            if why == "files":
                self._go.clear()
                self._asked += 1
                proxy.say("files", files=self.files, wait=self._asked)
                self._go.wait(GO_S)
            return True
        if self._is_alone and seconds is not None:
            proxy.say("files", files=self.files)
            return False
        with self._state:
            self._waiting += 1
        try:
            proxy.say("waiting", why=why, files=self.files)
            # Without a debugger that has announced itself debugpy is not even imported.
            came = self.debugger.is_listening or self._wanted.wait(seconds)
            if came and not self._is_shut and self._listen():
                self._say_listening(proxy)
                if self.debugger.wait(seconds):
                    self.debugger.trace_this_thread(True)
                    proxy.say("debugging")
                    return True
        finally:
            with self._state:
                self._waiting -= 1
                self._wanted.clear()
        # Where nobody came once, the next file or failure does not wait as long again.
        self._is_alone = True
        proxy.say("free")
        return False

    def _listen(self) -> bool:
        try:
            self.debugger.listen()
            if self.debugger.children:
                # From now on debugpy itself takes the processes that this one starts.
                os.environ[INSIDE] = "debugged"
            return True
        except Missing as error:
            self.problem("no-debugpy", str(error))
        except InUse as error:
            self.problem("debugpy-in-use", str(error))
        except NotStarted as error:
            self.problem("debugpy-failed", str(error))
        # debugpy raises what it likes, and the program goes on without it.
        except Exception as error:
            self.problem("debugpy-failed", repr(error))
        return False

    def _say_listening(self, proxy: gates.Gate) -> None:
        """The first time, the channel of debugpy's clients goes to the gate, which then has the only copy."""
        channel = self.debugger.take_channel()
        try:
            passing = [channel.fileno()] if channel is not None else []
            proxy.say("listening", passing=passing, debugpy=self.debugger.version)
        finally:
            if channel is not None:
                channel.close()

    def _on_line(self, line: dict[str, Any]) -> None:
        op = line.get("op")
        self._is_alone = False
        if op == "gone":
            # Nobody can come any more, so nobody is waited for.
            self._is_shut = True
            self._wanted.set()
            self._go.set()
        elif op == "go":
            # The one for an earlier question, or for having attached, says nothing of the newest files.
            if line.get("asked", self._asked) == self._asked:
                self._go.set()
        elif op == "breakpoints":
            self._places = Places(paths_of(line.get("breakpoints")))
            self._arrivals.stems = self._places.stems
            self.files = self._places.among([*self._code, *loaded_files()])
            if self._gate is not None:
                self._gate.say("files", files=self.files)
        elif op == "debug":
            with self._state:
                self._wanted.set()
                if self._waiting:
                    return
            if self._listen() and self._gate is not None:
                self._say_listening(self._gate)

    @harmless
    def _forked(self) -> None:
        """A child has neither the threads nor the gate of its parent; asked for, it gets a gate of its own."""
        is_free = self.matches and not self.debugger.is_listening and not is_about_to_exec()
        is_wanted = self.settings.children and is_free
        self._gate = None
        self._is_shut = self._is_alone = False
        self._waiting = 0
        self._opening, self._state = threading.Lock(), threading.Lock()
        self._turn = threading.Lock()
        self._wanted, self._go = threading.Event(), threading.Event()
        self._inside = threading.local()
        if is_wanted:
            self.kind = "child"
            # The table of workers knows the parent only.
            self.announce = lambda gate: None
            self.file = lambda: ray_worker.announcement(self.settings)
            self.is_findable = lambda: bool(self.file())
            if self.files:
                self.wait("files")
            else:
                self.open_soon()
        else:
            if not self.debugger.children:
                self.debugger.forget()
            self.matches = False
            self._arrivals.stems = set()
            self._arrivals.seen = lambda file, name: None


def is_about_to_exec() -> bool:
    """Whether `subprocess` has forked for a `preexec_fn`: that child becomes another program at once."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != "subprocess":
        frame = frame.f_back
    return frame is not None
