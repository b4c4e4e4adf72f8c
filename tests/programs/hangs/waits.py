"""Processes and threads that wait for each other, in the way named by the first argument."""

import asyncio
import concurrent.futures
import fcntl
import importlib
import logging
import logging.config
import multiprocessing
import os
import queue
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from filelock import FileLock, SoftFileLock

LOCK = threading.Lock()
BEGUN = threading.Event()
FORKED = multiprocessing.get_context("fork")


class Cache:
    def __init__(self) -> None:
        self.entries = threading.Lock()
        self.index = threading.Lock()
        self.both = threading.Barrier(2)

    def read(self) -> None:
        with self.entries:
            self.both.wait()
            with self.index:
                pass

    def write(self) -> None:
        with self.index:
            self.both.wait()
            with self.entries:
                pass


def two_locks() -> None:
    cache = Cache()
    threads = [
        threading.Thread(target=cache.read, name="reader"),
        threading.Thread(target=cache.write, name="writer"),
    ]
    for thread in threads:
        thread.start()
    ready()
    for thread in threads:
        thread.join()


def loop_lock() -> None:
    """A semaphore of threads in coroutines: its holder can't continue while the loop waits."""
    slots = threading.Semaphore(1)

    async def generate() -> None:
        slots.acquire()
        await asyncio.sleep(0.1)
        slots.release()

    async def both() -> None:
        asyncio.get_running_loop().call_soon(ready)
        await asyncio.gather(generate(), generate())

    asyncio.run(both())


def own_server() -> None:
    """A server with one thread, whose handler sends a request to that server."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    ready()
    ask(address)


def logging_locks() -> None:
    """A thread that logs makes a handler, while another configures logging."""
    opening, clearing = threading.Event(), threading.Event()

    class Opening(logging.Handler):
        def acquire(self) -> None:
            if opening.is_set():
                clearing.set()
            super().acquire()

        def emit(self, record: logging.LogRecord) -> None:
            opening.set()
            clearing.wait()
            logging.StreamHandler()

    logging.getLogger("steps").addHandler(Opening())
    threading.Thread(target=log_step, name="trainer").start()
    opening.wait()
    ready()
    logging.config.dictConfig({"version": 1})


def log_step() -> None:
    logging.getLogger("steps").warning("step")


def import_lock() -> None:
    """A thread imports a module, which needs a lock whose holder imports it, too."""
    folder = Path(sys.argv[2]).parent
    source = "from __main__ import take_lock, BEGUN\nBEGUN.set()\ntake_lock()\n"
    (folder / "plugin.py").write_text(source)
    sys.path.insert(0, str(folder))
    with LOCK:
        threading.Thread(target=load, name="loader").start()
        BEGUN.wait()
        ready()
        load()


def load() -> None:
    import plugin  # type: ignore[import-not-found]  # noqa: F401 (made above)


def own_lock() -> None:
    with LOCK:
        ready()
        take_lock()


def take_lock() -> None:
    with LOCK:
        pass


def held_lock() -> None:
    """A thread keeps a lock while it waits for a server."""
    begun = threading.Event()

    def hold() -> None:
        address = server()
        with LOCK:
            begun.set()
            ask(address)

    threading.Thread(target=hold, name="loader", daemon=True).start()
    begun.wait()
    ready()
    take_lock()


def forked_lock() -> None:
    """A pool is forked while another thread has the lock, which its processes then never get."""
    begun, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with LOCK:
            begun.set()
            forked.wait()

    threading.Thread(target=hold).start()
    begun.wait()
    with FORKED.Pool(1) as pool:
        forked.set()
        ready()
        pool.apply(take_lock)


def unread_queue() -> None:
    """Processes can't end before their queue is read, and their parent waits for their end."""
    filled = FORKED.Queue()
    children = [FORKED.Process(target=fill, args=(filled,)) for _ in range(2)]
    for child in children:
        child.start()
        # The first one writes, for which it has the lock of the queue; the second waits for that.
        filled._reader.poll(None)
    ready()
    for child in children:
        child.join()


def fill(filled: Any) -> None:
    filled.put(b" " * 2**22)


def full_pipe() -> None:
    """A child writes more than its pipe holds, and its parent waits for its end."""
    with subprocess.Popen(
        [sys.executable, "-c", "print(' ' * 2**22)"], stdout=subprocess.PIPE
    ) as child:
        ready()
        child.wait()


def file_lock() -> None:
    path = Path(sys.argv[2])
    is_held = FORKED.Event()
    child = FORKED.Process(target=keep_file, args=(path, is_held))
    child.start()
    is_held.wait()
    ready()
    with path.open("w") as file:
        build(file)


def build(file: Any) -> None:
    fcntl.flock(file, fcntl.LOCK_EX)


def keep_file(path: Path, is_held: Any) -> None:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        is_held.set()
        time.sleep(600)


def polled_lock() -> None:
    """A process tries again and again to lock a file."""
    path = Path(sys.argv[2])
    is_held = FORKED.Event()
    child = FORKED.Process(target=keep_file, args=(path, is_held))
    child.start()
    is_held.wait()
    ready()
    with path.open("w") as file:
        try_to_lock(file)


def try_to_lock(file: Any) -> None:
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.1)


def inherited_lock() -> None:
    """The process that has locked a file has ended, and a program that it started has the lock."""
    path = Path(sys.argv[2])
    if os.fork() == 0:
        file = path.open("w")
        os.set_inheritable(file.fileno(), True)
        fcntl.flock(file, fcntl.LOCK_EX)
        subprocess.Popen(["sleep", "30"], close_fds=False)
        os._exit(0)
    os.wait()
    ready()
    with path.open("w") as file:
        build(file)


def own_file_lock() -> None:
    with Path(sys.argv[2]).open("w") as file, Path(sys.argv[2]).open("w") as again:
        build(file)
        ready()
        build(again)


def held_lock_file() -> None:
    path = Path(sys.argv[2])
    child = FORKED.Process(target=keep_lock_file, args=(path,))
    child.start()
    while not path.exists():
        time.sleep(0.01)
    ready()
    wait_for_file(str(path))


def keep_lock_file(path: Path) -> None:
    lock = SoftFileLock(path)
    lock.acquire()
    time.sleep(600)


def left_lock_file() -> None:
    """The process that has made the lock file has ended."""
    path = Path(sys.argv[2])
    path.touch()
    ready()
    wait_for_file(str(path))


def wait_for_file(lock_path: str) -> None:
    baton = file_baton(Path(lock_path).parent).FileBaton(lock_path)
    baton.wait()


def file_baton(folder: Path) -> Any:
    """A module with the path and the class of PyTorch's own."""
    package = folder / "site-packages" / "torch" / "utils"
    package.mkdir(parents=True)
    (package / "file_baton.py").write_text(
        "import os, time\n"
        "class FileBaton:\n"
        "    def __init__(self, path): self.path = path\n"
        "    def wait(self):\n"
        "        while os.path.exists(self.path): time.sleep(0.1)\n"
    )
    sys.path.insert(0, str(folder / "site-packages"))
    return importlib.import_module("torch.utils.file_baton")


def polled_file_lock() -> None:
    """Both use the package filelock."""
    path = Path(sys.argv[2])
    lock = FileLock(path)
    lock.acquire()
    child = FORKED.Process(target=lock_again, args=(path,))
    child.start()
    time.sleep(0.3)
    ready()
    ask(server())


def lock_again(path: Path) -> None:
    again = FileLock(path)
    again.acquire()


def crossed_file_locks() -> None:
    """Two processes lock two files in opposite order."""
    folder = Path(sys.argv[2]).parent
    both = FORKED.Barrier(2)
    child = FORKED.Process(target=lock_both, args=(folder / "b.lock", folder / "a.lock", both))
    child.start()
    lock_both(folder / "a.lock", folder / "b.lock", both, ready)


def lock_both(first: Path, second: Path, both: Any, before: Any = lambda: None) -> None:
    with FileLock(first):
        both.wait()
        before()
        with FileLock(second):
            pass


def crossed_lock_files() -> None:
    """Two processes wait until the other one deletes its file, in which its number is."""
    folder = Path(sys.argv[2]).parent
    both = FORKED.Barrier(2)
    child = FORKED.Process(target=make_both, args=(folder / "b.lock", folder / "a.lock", both))
    child.start()
    make_both(folder / "a.lock", folder / "b.lock", both, ready)


def make_both(first: Path, second: Path, both: Any, before: Any = lambda: None) -> None:
    make(str(first))
    both.wait()
    before()
    make(str(second))


def make(lock_path: str) -> None:
    while True:
        try:
            descriptor = os.open(lock_path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            time.sleep(0.1)
            continue
        os.write(descriptor, str(os.getpid()).encode())
        return os.close(descriptor)


def unread_output() -> None:
    """A server in a child writes more output for each request than its pipe has room for."""
    source, target = os.pipe()
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        os.close(source)
        Printer.output = target
        server = socketserver.ThreadingTCPServer(listener.getsockname(), Printer, False)
        server.socket.close()
        server.socket = listener
        server.socket = listener
        server.serve_forever()
    os.close(target)
    address = listener.getsockname()
    listener.close()
    ready()
    ask(address)
    os.read(source, 1)


class Printer(socketserver.BaseRequestHandler):
    output = 0

    def handle(self) -> None:
        self.answer(b"." * 2**20)

    def answer(self, text: bytes) -> None:
        with open(self.output, "wb", closefd=False) as output:
            output.write(text)


def silent_server() -> None:
    """A server that never answers, outside of what is sampled: its address ends the chain."""
    address = server()
    child = FORKED.Process(target=ask, args=(address,))
    child.start()
    ready()
    child.join()


def retries() -> None:
    """Nothing hangs: all requests wait some time before they try again."""

    async def back_off() -> None:
        await asyncio.sleep(900)

    async def ask_all() -> None:
        asyncio.get_running_loop().call_soon(ready)
        await asyncio.gather(*(back_off() for _ in range(4)))

    asyncio.run(ask_all())


async def transfer(first: asyncio.Lock, second: asyncio.Lock) -> None:
    async with first:
        await asyncio.sleep(0.1)
        async with second:
            pass


def crossed_tasks() -> None:
    """Two tasks take two locks of asyncio in different order, beside a task that sleeps."""

    async def work() -> None:
        first, second = asyncio.Lock(), asyncio.Lock()
        loop = asyncio.get_running_loop()
        loop.call_later(1, ready)
        await asyncio.gather(transfer(first, second), transfer(second, first), asyncio.sleep(600))

    asyncio.run(work())


def nested_semaphore() -> None:
    """Tasks that have a permit of a semaphore wait for another one."""

    async def ask(permits: asyncio.Semaphore) -> None:
        async with permits:
            await asyncio.sleep(0.1)
            await generate(permits)

    async def generate(permits: asyncio.Semaphore) -> None:
        async with permits:
            pass

    async def work() -> None:
        permits = asyncio.Semaphore(2)
        asyncio.get_running_loop().call_later(1, ready)
        await asyncio.gather(*(ask(permits) for _ in range(3)))

    asyncio.run(work())


def slow_holder() -> None:
    """Nothing hangs: tasks wait for locks and permits of tasks that get an answer later, or give up after a time."""

    async def hold(lock: asyncio.Lock | asyncio.Semaphore, answer: asyncio.Future[None]) -> None:
        async with lock:
            await answer

    async def limited(first: asyncio.Lock, second: asyncio.Lock) -> None:
        async with first, asyncio.timeout(600), second:
            pass

    async def work() -> None:
        lock, permits, third = asyncio.Lock(), asyncio.Semaphore(1), asyncio.Lock()
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        loop.call_later(1, ready)
        await asyncio.gather(
            *(hold(each, answer) for each in (lock, permits, lock, permits)),
            limited(third, lock),
            transfer(third, lock),
        )

    asyncio.run(work())


def idle_server() -> None:
    """Nothing hangs: an event loop with a server that has no clients."""

    async def serve() -> None:
        serving = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        ready()
        await serving.serve_forever()

    asyncio.run(serve())


def server() -> tuple[str, int]:
    """The address of a server in a process that nothing here has started any more."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    if os.fork() == 0:
        if os.fork():
            os._exit(0)
        connection = listener.accept()
        time.sleep(30)
        os._exit(bool(connection))
    listener.close()
    os.wait()
    return address[0], address[1]


def ask(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.recv(1)


def dead_producer() -> None:
    filled = FORKED.Queue()
    child = FORKED.Process(target=os._exit, args=(1,))
    child.start()
    child.join()
    ready()
    filled.get()


def empty_queue() -> None:
    """No other thread puts something into the queue."""
    ready()
    queue.Queue[int]().get()


def fifo() -> None:
    """A child opens a FIFO that no process opens for writing."""
    path = Path(sys.argv[2])
    os.mkfifo(path)

    def read_fifo() -> None:
        path.read_text("utf-8")

    child = FORKED.Process(target=read_fifo)
    child.start()
    ready()
    child.join()


def small_pool() -> None:
    """A task of a pool waits for another one of it, for which no thread is left."""
    with concurrent.futures.ThreadPoolExecutor(1, "prepare") as pool:

        def nested() -> None:
            pool.submit(int).result()

        begun = pool.submit(nested)
        ready()
        begun.result()


def died_worker() -> None:
    """A process has taken an item of a queue, and has died before it called `task_done`."""
    work = FORKED.JoinableQueue()
    child = FORKED.Process(target=take_item, args=(work,))
    child.start()
    work.put(1)
    child.join()
    ready()
    work.join()


def take_item(work: Any) -> None:
    work.get()
    os._exit(1)


def lost_task() -> None:
    """A process of a pool was killed with its task, which no other one does."""
    with FORKED.Pool(1) as pool:
        killed = pool.apply_async(os._exit, (1,))
        pool.apply(int)
        ready()
        killed.get()


def own_queue() -> None:
    """A thread that reads a queue waits for room in it."""
    lines: queue.Queue[int] = queue.Queue(1)

    def write() -> None:
        while True:
            for line in range(lines.get(), 9):
                lines.put(line)

    threading.Thread(target=write, name="writer", daemon=True).start()
    lines.put(0)
    ready()
    lines.join()


def both_receive() -> None:
    """A client and its server wait for each other's message."""
    listener = socket.create_server(("127.0.0.1", 0))
    child = FORKED.Process(target=ask, args=(listener.getsockname(),))
    child.start()
    connection, _ = listener.accept()
    ready()
    connection.recv(1)


def server_thread() -> None:
    """A client waits for a thread of a server, whose main thread waits for further clients."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1)
            ready()
            threading.Event().wait()

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    FORKED.Process(target=server.serve_forever).start()
    with socket.create_connection(server.server_address) as connection:
        server.server_close()
        connection.sendall(b"?")
        connection.recv(1)


def left_barrier() -> None:
    """Three processes meet at a barrier, one of which waits for the end of the others."""
    barrier = FORKED.Barrier(3)
    children = [FORKED.Process(target=meet, args=(barrier,)) for _ in range(2)]
    for child in children:
        child.start()
    while barrier.n_waiting < 2:
        time.sleep(0.01)
    ready()
    for child in children:
        child.join()


def ended_party() -> None:
    """Two of three processes wait at a barrier for the third, which was killed; their parent is none of them."""
    barrier = FORKED.Barrier(3)
    children = [FORKED.Process(target=meet, args=(barrier,)) for _ in range(2)]
    for child in children:
        child.start()
    killed = FORKED.Process(target=lambda: os.kill(os.getpid(), signal.SIGKILL))
    killed.start()
    while barrier.n_waiting < 2:
        time.sleep(0.01)
    ready()
    for child in children:
        child.join()


def serial_server() -> None:
    """A server that answers one client at a time waits for one that waits for the next client."""
    listening = socket.create_server(("127.0.0.1", 0))
    works = [FORKED.Process(target=serve_first, args=(listening,))]
    works[0].start()
    barrier = FORKED.Barrier(2)
    works.append(FORKED.Process(target=ask_and_meet, args=(listening, barrier)))
    works[-1].start()
    while not barrier.n_waiting:
        time.sleep(0.01)
    works.append(FORKED.Process(target=ask_and_meet, args=(listening, barrier)))
    works[-1].start()
    listening.close()
    ready()
    for work in works:
        work.join()


def serve_first(listening: socket.socket) -> None:
    client, _ = listening.accept()
    while client.recv(1):
        client.sendall(b"x")


def ask_and_meet(listening: socket.socket, barrier: Any) -> None:
    address = listening.getsockname()
    listening.close()
    with socket.create_connection(address) as server:
        server.sendall(b"x")
        server.recv(1)
        barrier.wait()


def half_message() -> None:
    """A process was killed while it wrote a message, and another one waits for the lock that it had."""
    reader, writer = FORKED.Pipe(duplex=False)
    lock = FORKED.Lock()
    lock.acquire()
    waiting = FORKED.Process(target=lock.acquire)
    killed = FORKED.Process(target=write_half, args=(writer,))
    waiting.start()
    killed.start()
    writer.close()
    ready()
    reader.recv()


def write_half(writer: Any) -> None:
    os.write(writer.fileno(), struct.pack("!i", 100) + b"x")
    os.kill(os.getpid(), signal.SIGKILL)


def meet(barrier: Any) -> None:
    barrier.wait()


def computing_executor() -> None:
    """Nothing hangs: processes of an executor compute at one line."""
    with concurrent.futures.ProcessPoolExecutor(1, FORKED) as executor:
        begun = executor.submit(add_up)
        while not begun.running():
            time.sleep(0.01)
        ready()
        begun.result()


def add_up() -> int:
    return sum(1 for _ in iter(int, 1))


def ended_child() -> None:
    """A handler waits for a child, while another one has ended."""
    with subprocess.Popen(["true"]), subprocess.Popen(["sleep", "600"]) as child:
        try:
            child.wait(0.01)
        except subprocess.TimeoutExpired:
            ready()
            child.wait()


def left_output() -> None:
    """A child of a shell keeps its output open after the shell was killed."""
    command = "sleep 600; true"
    with subprocess.Popen(command, shell=True, stdout=subprocess.PIPE) as child:
        try:
            child.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            child.kill()
            ready()
            child.communicate()


def idle_pool() -> None:
    """Nothing hangs: a pool has no tasks."""
    with FORKED.Pool(2) as pool:
        pool.map(abs, range(4))
        ready()
        time.sleep(600)


def long_command() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
        ready()
        child.wait()


def asking_child() -> None:
    """A child asks its user at a terminal."""
    answers, terminal = os.openpty()
    code = "def confirm(): input()\nconfirm()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=terminal) as child:
        ready()
        child.wait()
    os.close(answers)


def prompt() -> None:
    """Nothing hangs: it asks for its next command."""
    _, terminal = os.openpty()
    os.dup2(terminal, 0)
    ready()
    input()


def unread_warnings() -> None:
    """An event loop reads the output of its child, which fills the pipe of its errors."""

    async def search() -> None:
        code = "import os\nwhile True: os.write(2, b'x' * 65536)"
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert child.stdout is not None
        asyncio.get_running_loop().call_later(1, ready)
        await child.stdout.readline()

    asyncio.run(search())


def unread_at_exit() -> None:
    """A queue that no process reads has more than its pipe takes, when the program ends."""
    filled: Any = FORKED.Queue()
    filled.put(bytes(2**20))
    ready()


def idle_engine() -> None:
    """Nothing hangs: a server without clients, the engine of which waits for requests."""
    requests, answers = FORKED.Pipe()
    FORKED.Process(target=serve_requests, args=(answers, requests), daemon=True).start()
    answers.close()
    threading.Thread(target=read_answers, args=(requests,), daemon=True).start()
    listening = socket.create_server(("127.0.0.1", 0))
    ready()
    while True:
        client, _ = listening.accept()
        requests.send(client.recv(9))


def serve_requests(answers: Any, requests: Any) -> None:
    requests.close()
    while True:
        answers.send(answers.recv())


def read_answers(requests: Any) -> None:
    while True:
        requests.recv()


def connected_loop() -> None:
    """An event loop that awaits the answer of a server in another process."""
    address = server()

    async def answer() -> bytes:
        reader, _ = await asyncio.open_connection(*address)
        ready()
        return await reader.read()

    asyncio.run(answer())


def idle_manager() -> None:
    """Nothing hangs: a program that computes, while its helpers wait for it."""
    with FORKED.Manager() as manager:
        event = manager.Event()
        for _ in range(2):
            FORKED.Process(target=wait_for_event, args=(event,), daemon=True).start()
        ready()
        while True:
            pass


def wait_for_event(event: Any) -> None:
    event.wait()


def working_thread() -> None:
    """Nothing hangs: an event loop awaits a process, a thread of which computes."""

    async def verify() -> None:
        with concurrent.futures.ProcessPoolExecutor(1, FORKED) as pool:
            loop = asyncio.get_running_loop()
            loop.call_later(0.5, ready)
            await loop.run_in_executor(pool, compute_in_thread)

    asyncio.run(verify())


def compute_in_thread() -> None:
    thread = threading.Thread(target=compute)
    thread.start()
    thread.join()


def working_child() -> None:
    """Nothing hangs: a child computes."""
    child = FORKED.Process(target=compute)
    child.start()
    ready()
    child.join()


def compute() -> None:
    total = 0
    while True:
        total += square(total % 7)
        total -= cube(total % 5)


def square(number: int) -> int:
    return sum(number for _ in range(number * 100))


def cube(number: int) -> int:
    return sum(number * number for _ in range(number * 100))


def ready() -> None:
    print("ready", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
