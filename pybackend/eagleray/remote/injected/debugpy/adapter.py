"""debugpy's own adapter in a process of ours: it opens no port for clients and starts while debugpy is imported."""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
from importlib import import_module
from importlib.util import find_spec

from .. import jsonlines
from ..helper_process import spawn
from ..tcp_peer import is_own
from .channel import accepted
from .errors import DebugpyNotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_READY_S = 30.0
_LONGEST_LINE = 2**14


class DebugpyAdapter:
    """The worker's side of the process, which ends when the worker and all clients have closed their ends.

    `server` is pydevd's connection to it, `clients` the channel over which it gets its clients.
    """

    def __init__(self, folder: str, children: bool) -> None:
        """`folder` holds debugpy; raises DebugpyNotStarted.  With `children`, processes of this one can connect, too."""
        if not os.path.isdir(os.path.join(folder, "debugpy", "adapter")):
            raise DebugpyNotStarted(f"there is no folder of debugpy's adapter in {folder}")
        self.folder = folder
        # Unlike an argument, data on a socket isn't visible to other users.
        self.token = os.urandom(32).hex()
        self.server, server = socket.socketpair()
        self.clients, clients = socket.socketpair()
        with server, clients:
            try:
                numbers = [server.fileno(), clients.fileno()]
                arguments = [folder, *map(str, numbers)]
                spawn("debugpy.adapter", arguments, numbers, os.environ, _flags())
                begin = {"token": self.token, "children": children}
                jsonlines.send(self.clients, begin)
            except OSError as error:
                self.close()
                raise DebugpyNotStarted(f"debugpy's adapter doesn't start: {error}") from error
        for sock in (self.server, self.clients):
            sock.settimeout(None)

    def address(self) -> tuple[str, int]:
        """Returns the address for child processes, port 0 without `children`.

        Waits until the adapter is ready; raises DebugpyNotStarted.
        """
        self.clients.settimeout(_READY_S)
        try:
            answer = jsonlines.receive(self.clients, _LONGEST_LINE)
        except OSError as error:
            raise DebugpyNotStarted(f"debugpy's adapter doesn't start: {error}") from error
        finally:
            self.clients.settimeout(None)
        if answer is None:
            raise DebugpyNotStarted("debugpy's adapter ended at its start")
        host, port = answer
        return host, port

    def close(self) -> None:
        """Ends the process, unless pydevd or a debug proxy has the other copies."""
        self.server.close()
        self.clients.close()


def early_adapter(offered: str, children: bool) -> DebugpyAdapter | None:
    """The adapter of the debugpy that this process will probably import; None if that is unknown."""
    try:
        spec = find_spec("debugpy")
    except ValueError:
        # The program has replaced the module with something of its own.
        return None
    folder = _folder_of(spec.origin) if spec and spec.origin else offered
    try:
        return DebugpyAdapter(folder, children) if folder else None
    except DebugpyNotStarted:
        return None


def adapter_of(debugpy: Any, early: DebugpyAdapter | None, children: bool) -> DebugpyAdapter:
    """The adapter of the imported debugpy: the `early` one if it fits, else a new one; raises DebugpyNotStarted.

    debugpy itself would start it with a port that every user of the machine can connect to: the protocol has no
    password (1.8.22, `listen` in `server/api.py`).
    """
    folder = _folder_of(debugpy.__file__)
    if early is not None and early.folder == folder:
        return early
    if early is not None:
        early.close()
    return DebugpyAdapter(folder, children)


def _folder_of(file: str) -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(file)))


def _flags() -> list[str]:
    """The program's settings for compiled files hold for this Python, too."""
    flags = ["-B"] if sys.dont_write_bytecode else []
    return [*flags, f"-Xpycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else flags


def main() -> None:
    """Runs debugpy's adapter as `debugpy/adapter --for-server` does, without its port for clients.

    The last arguments are the folder of debugpy and the descriptors of pydevd's connection and of the channel.
    """
    folder, *numbers = sys.argv[-3:]
    server, channel = (socket.socket(fileno=int(number)) for number in numbers)
    for sock in (server, channel):
        sock.settimeout(None)
    sys.path.insert(0, folder)
    # Untyped, as modules of an unknown version are.
    of_debugpy: Callable[[str], Any] = import_module
    clients, servers, sessions = (
        of_debugpy(f"debugpy.adapter.{name}") for name in ("clients", "servers", "sessions")
    )
    log, sockets = (of_debugpy(f"debugpy.common.{name}") for name in ("log", "sockets"))
    del sys.path[0]
    speed_up(log, sockets)
    begin = jsonlines.receive(channel, _LONGEST_LINE)
    log.to_file(prefix="debugpy.adapter")
    servers.access_token = begin["token"]
    # Never bound: debugpy reads nothing but their addresses.
    clients.listener, servers.listener = socket.socket(), socket.socket()
    if begin["children"]:
        servers.listener = for_children(servers.Connection, sockets)
    jsonlines.send(channel, servers.listener.getsockname()[:2])
    taking = DebugpyClients(clients.Client, log).take
    threading.Thread(target=taking, args=(channel,), daemon=True).start()
    servers.Connection(server)
    servers.wait_until_disconnected()
    sessions.wait_until_ended()


class DebugpyClients:
    """Gives debugpy the clients that the debug proxy sends.

    debugpy refuses a client of a process whose last client has left until it has cleared that one away ("already being
    debugged" in 1.8.22, `adapter/clients.py`), so that a new client waits for those that have left.
    """

    def __init__(self, make: Callable[[socket.socket], Any], log: Any) -> None:
        self._make = make
        self._log = log
        self._started_clients: list[_DebugpyClient] = []

    def take(self, channel: socket.socket) -> None:
        """Returns when the debug proxy has ended."""
        while (sock := accepted(channel)) is not None:
            left = [before for before in self._started_clients if is_closed(before.sock)]
            new = _DebugpyClient(sock)
            self._started_clients = [
                before for before in self._started_clients if before not in left
            ] + [new]
            threading.Thread(target=self._begin, args=(new, left), daemon=True).start()

    def _begin(self, new: _DebugpyClient, left: list[_DebugpyClient]) -> None:
        for before in left:
            before.wait_until_ended()
        # debugpy may raise anything if the client has left already.
        try:
            new.session = self._make(new.sock).session
        except Exception:
            self._log.swallow_exception("Failed to begin a session for a client:")
        finally:
            new.is_made.set()


class _DebugpyClient:
    """`session` is debugpy's, once `is_made`; None if debugpy failed to make one."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.session: Any = None
        self.is_made = threading.Event()

    def wait_until_ended(self) -> None:
        self.is_made.wait()
        session = self.session
        if session is not None:
            session.wait_for(
                lambda: (
                    not any(end and end.is_connected for end in (session.client, session.server))
                )
            )


def is_closed(sock: socket.socket) -> bool:
    """Whether the other end, or debugpy, has closed the connection."""
    if sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock, 0)
    return bool(poll.poll(0))


def for_children(begin: Callable[[socket.socket], Any], sockets: Any) -> socket.socket:
    """A listener for the processes that the worker starts; another user's connection is closed at once."""

    def begin_own(sock: socket.socket) -> None:
        if is_own(sock):
            begin(sock)
        else:
            sock.close()

    find_localhost = getattr(sockets, "get_default_localhost", lambda: "127.0.0.1")
    listener: socket.socket = sockets.serve("Server", begin_own, find_localhost())
    return listener


def speed_up(log: Any, sockets: Any) -> None:
    """Skips debugpy's list of all installed packages (1.8.22) if it writes no log, and sends small messages at once."""
    if not os.environ.get("DEBUGPY_LOG_DIR"):
        log.describe_environment = lambda header: None
    make = getattr(sockets, "_new_sock", None)
    if make is None:
        return

    def _new_sock(*given: Any) -> Any:
        sock = make(*given)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    sockets._new_sock = _new_sock
