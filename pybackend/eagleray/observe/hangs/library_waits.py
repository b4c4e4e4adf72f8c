"""Finds what processes wait for, read from the library functions that their code has called, where no kind of hang
explains them.

Functions are as in Python 3.10 to 3.14, torch 2.13, Ray 2.60, vLLM 0.32 and the clients that they use.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from attrs import frozen

from eagleray.common.l10n import counted, later, t, translated
from eagleray.observe.hangs import source_lines, wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.remote.sampling.frames import PythonFrame, is_noise, is_users
from eagleray.remote.sampling.merging import ThreadStack
from eagleray.remote.sampling.unwinding import LOADER_LOOP

# More sentences than these don't say what a reader should look at.
_MOST = 3
# The number of the user's innermost functions that may be an engine's.
_INNERMOST = 3


@frozen
class LibraryWait:
    """Functions of a library that wait for `what`; `is_own`: another thread of the process ends the wait."""

    file: re.Pattern[str]
    function: re.Pattern[str]
    what: str
    is_own: bool = False


def _wait(file: str, function: str, what: str, *, is_own: bool = False) -> LibraryWait:
    return LibraryWait(
        re.compile(rf"(?:^|/){file}$"), re.compile(rf"(?:^|\.)(?:{function})$"), what, is_own
    )


# Functions that sleep before they try again; their callers wait for something else otherwise.
PAUSES = (
    _wait(
        r"(?:urllib3/util/retry|tenacity/(?:nap|asyncio/\w+))\.py",
        "_sleep_backoff|sleep_for_retry|sleep|_portable_async_sleep",
        later("its next attempt"),
    ),
)
_WORK = later("the work of a queue")
_BARRIER = later("others at a barrier")
_POOL = later("the processes of a pool")
LOCK_FILE, GPU = later("a lock file"), later("the GPU")
ROOM, ITEM = later("room in a queue of Ray"), later("an item of a queue of Ray")
OUTPUT = later("the output of a child process")
# A server that is slow, and not in the picture, ends them as well as one that never answers.
_ANSWERS = (
    later("an answer from gRPC"),
    later("a message of ZeroMQ"),
    later("an answer over the network"),
)
# Waits for processes that a lock in shared memory ends.
OF_SHARED_LOCKS = (_WORK, _BARRIER)
TABLE = (
    _wait(r"torch/utils/file_baton\.py", "wait", LOCK_FILE),
    _wait(r"filelock/\w+\.py", "acquire|_acquire|__enter__", LOCK_FILE),
    _wait(r"concurrent/futures/\w+\.py", "result|exception|wait|as_completed|result_iterator", later("a future"), is_own=True),
    _wait(r"concurrent/futures/\w+\.py", "shutdown|__exit__", later("the end of a pool"), is_own=True),
    _wait(r"multiprocess(?:ing)?/pool\.py", "get|wait|map|starmap|apply|next|__next__", _POOL),
    _wait(r"multiprocess(?:ing)?/pool\.py", "join|__exit__|_terminate_pool", later("the end of a pool")),
    _wait(r"multiprocess(?:ing)?/(?:process|popen_\w+)\.py", "join|wait|poll", later("the end of a child process")),
    _wait(r"multiprocess(?:ing)?/queues\.py", "join", _WORK),
    _wait(r"multiprocess(?:ing)?/(?:connection|queues|managers)\.py", r"recv|_recv|_recv_bytes|recv_bytes|wait|get|_callmethod|accept", later("a message of another process")),
    _wait(r"multiprocess(?:ing)?/synchronize\.py", "acquire|wait|__enter__|wait_for", later("a lock that processes share")),
    _wait(r"subprocess\.py", "wait|_wait|_try_wait", later("the end of a child process")),
    _wait(r"subprocess\.py", "communicate|_communicate|run", OUTPUT),
    _wait(r"ray/util/queue\.py", "put", ROOM),
    _wait(r"ray/util/queue\.py", "get", ITEM),
    _wait(r"queue\.py", "get", later("an item of a queue"), is_own=True),
    _wait(r"queue\.py", "put", later("room in a queue"), is_own=True),
    _wait(r"queue\.py", "join", _WORK, is_own=True),
    _wait(r"threading\.py", "join|_wait_for_tstate_lock|_shutdown", later("the end of a thread"), is_own=True),
    _wait(r"threading\.py", r"Barrier\.wait|_wait|_enter", _BARRIER, is_own=True),
    _wait(r"threading\.py", "wait|wait_for", later("another thread"), is_own=True),
    _wait(r"threading\.py", "acquire|__enter__", later("a lock"), is_own=True),
    _wait(r"logging/__init__\.py", "acquire", later("the lock of a log handler"), is_own=True),
    _wait(r"grpc/\w+\.py", "wait|result|_blocking|_wait_once|__call__", _ANSWERS[0]),
    _wait(r"zmq/sugar/(?:poll|socket)\.py", "poll|recv|recv_multipart|recv_pyobj", _ANSWERS[1]),
    _wait(r"socket\.py", "accept", later("a client that connects")),
    _wait(r"(?:http/client|ssl|urllib3/.*|requests/.*|httpx/.*|httpcore/.*|socket)\.py", r"\w+", _ANSWERS[2]),
    _wait(r"ray/_private/worker\.py", "get|get_objects|wait", later("a result of Ray")),
    _wait(r"torch/cuda/(?:__init__|streams)\.py", "synchronize|wait", GPU),
    _wait(r"jax/_src/array\.py", "_value|block_until_ready", GPU),
    _wait(r"ray/_private/function_manager\.py", "fetch_registered_method|_wait_for_function|load_actor_class", later("the code of a task from Ray")),
    _wait(r"<frozen importlib\._bootstrap>", "acquire", later("the import of a module"), is_own=True),
)  # fmt: skip
KERNEL_FILE = "kernel"
# Functions of native code, of which a dump of gdb or `py-spy dump --native` has the outermost that fits.
NATIVE = (
    _wait(KERNEL_FILE, r"nfs\w*|rpc_\w+|cifs_\w+|fuse_\w+", later("a network file system")),
    _wait(KERNEL_FILE, r"flock_lock_\w+|fcntl_setlk|locks_lock_\w+", LOCK_FILE),
    _wait(KERNEL_FILE, r"futex_wait\w*", later("a lock or another thread")),
    _wait(r"[^/]+", r"PyThread_acquire_lock\w*", later("a lock"), is_own=True),
    _wait(r"[^/]+", "take_gil", later("the GIL"), is_own=True),
    _wait(r"[^/]+", r"ncclCommInit\w*", later("the other ranks of an NCCL communicator")),
    _wait(r"[^/]+", "cuInit|cuDevicePrimaryCtxRetain", later("the GPU's driver")),
    _wait(r"[^/]+", r"cu(?:da)?(?:Stream|Event|Device|Ctx)Synchronize", GPU),
    _wait(
        r"[^/]+",
        r"(?:__GI)?_*(?:pthread_mutex_lock|lll_lock_wait)\w*",
        later("a lock of native code"),
        is_own=True,
    ),
)
# The beginning of the function by which a pasted dump names the lock for which a thread waits.
NAMED_LOCK = "lock "
# The title of a worker of Ray that runs a method.
_METHOD = re.compile(r"ray::\w+\.\w")
_POOL_FILE = "concurrent/futures/thread.py"
# The loops of processes that do the tasks of a pool, and read its batches.
_OF_POOL = re.compile(r"(^|/)multiprocess(ing)?/pool\.py$")
_LOOPS = re.compile(
    rf"{_OF_POOL.pattern}|(^|/)(?:concurrent/futures/process|loky/process_executor)\.py$|{LOADER_LOOP.pattern}"
)
# Code of engines counts as the user's, who may have changed it.
OF_ENGINES = (
    _wait(
        r"shm_broadcast\.py",
        "dequeue|acquire_read|enqueue|acquire_write|recv",
        later("a message of another worker"),
    ),
)
# It blocks here only while it has no work (`EngineCoreProc` of vLLM's V1 engine); as a caller it handles a request.
# Functions that wait for work, by what they call for that (vLLM 0.32, SGLang 0.5, TRL 0.25).
_FREE = (
    (_wait(r"multiproc_executor\.py", "worker_busy_loop", ""), "dequeue"),
    (_wait(r"vllm/v1/engine/core\.py", "_process_input_queue", ""), ""),
    (_wait(r"sglang/srt/managers/scheduler\w*\.py", r"event_loop_\w+", ""), "recv_requests"),
    (_wait(r"sglang/srt/managers/\w+\.py", "event_loop", ""), "recv"),
    (_wait(r"trl/scripts/vllm_serve\.py", "llm_worker", ""), "recv"),
)
IDLE_ENGINES = (_wait(r"vllm/v1/engine/core\.py", "_process_input_queue", later("a request")),)


def is_free(process: SampledProcess) -> bool:
    """Whether a process waits for work: in a loop of an engine, a pool or Ray, or in an event loop."""
    frames = process.stack.frames if process.stack else ()
    return bool(frames) and (
        process.activity.doing is Doing.IN_EVENT_LOOP
        or frames[-1].file.endswith("asyncio/runners.py")
        or all(map(is_noise, frames))
        or is_without_task(process)
        or any(
            fits(wait, frame) and called in inner.function
            for frame, inner in pairwise(frames)
            for wait, called in _FREE
        )
    )


def runs_coroutines(process: SampledProcess) -> bool:
    """Whether a process that `is_free` may await something."""
    frames = process.stack.frames if process.stack else ()
    is_loop = bool(frames) and frames[-1].file.endswith("asyncio/runners.py")
    return is_loop or process.activity.doing is Doing.IN_EVENT_LOOP or runs_method(process)


def runs_method(process: SampledProcess) -> bool:
    """Whether the title of a worker of Ray names the method that it runs, of which its threads show nothing."""
    frames = process.stack.frames if process.stack else ()
    return all(map(is_noise, frames)) and _METHOD.match(process.process.title) is not None


def wait_of(frames: Sequence[PythonFrame]) -> LibraryWait | None:
    """The wait that the user's innermost code has called; None if the table has none."""
    # Native frames have no lines.
    of_python = (at for at, frame in enumerate(frames) if is_users(frame) and frame.line)
    end = 1 + max(of_python, default=-1)
    of_user = reversed(frames[max(end - _INNERMOST, 0) : end])
    pairs = (
        *((wait, frame) for frame in frames[end:][-1:] for wait in PAUSES),
        *((wait, frame) for frame in frames[max(end - 1, 0) : end] for wait in IDLE_ENGINES),
        *((wait, frame) for frame in of_user for wait in OF_ENGINES),
        *((wait, frame) for frame in frames[end:] for wait in (*TABLE, *NATIVE)),
    )
    return next((wait for wait, frame in pairs if fits(wait, frame)), None)


def what_of(wait: LibraryWait, frames: Sequence[PythonFrame]) -> str:
    function = frames[-1].function if frames else ""
    if not function.startswith(NAMED_LOCK):
        return translated(wait.what)
    return t("the lock {name}", name=function[len(NAMED_LOCK) :].rpartition(".")[0])


def is_within_message(frames: Sequence[PythonFrame]) -> bool:
    """Whether a thread has read the head of a message of `multiprocessing`, and waits for the rest."""
    return any(
        frame.function.endswith("_recv_bytes")
        and source_lines.reads_message_at(frame.file, frame.line)
        for frame in frames[-2:]
    )


def pause_of(frames: Sequence[PythonFrame]) -> str:
    """`polls`: what the user's innermost code does in a call that has no frame of Python; "" if that isn't known."""
    called = _called_in_c(frames)
    if "sleep" in called:
        return t("sleeps in a loop") if sleeps_in_loop(frames) else t("sleeps")
    return t("waits for input") if "input" in called else ""


def all_sleep(processes: Iterable[SampledProcess]) -> bool:
    """Whether each sleeps, as its code or the kernel tells: it will continue, and may do a little each time."""
    return all(
        (each.last.has_timer and each.activity.doing is not Doing.IN_EVENT_LOOP)
        or (each.stack is not None and "sleep" in _called_in_c(each.stack.frames))
        for each in processes
    )


def all_await_answers(processes: Iterable[SampledProcess]) -> bool:
    """Whether each waits for a server, which may still answer."""
    waits = [wait_of(each.stack.frames) if each.stack else None for each in processes]
    return all(wait is not None and wait.what in _ANSWERS for wait in waits)


def is_own_wait(frames: Sequence[PythonFrame]) -> bool:
    """Whether another thread of the process ends the wait of `frames`."""
    wait = wait_of(frames)
    return wait is not None and wait.is_own


def sleeps_in_loop(frames: Sequence[PythonFrame]) -> bool:
    return "sleep" in _called_in_c(frames) and any(
        source_lines.is_in_loop(frame.file, frame.line) for frame in frames[-2:]
    )


def _called_in_c(frames: Sequence[PythonFrame]) -> Collection[str]:
    """The calls in the line of the innermost frame, where that is the user's code."""
    is_own = bool(frames) and is_users(frames[-1])
    return source_lines.calls_at(frames[-1].file, frames[-1].line) if is_own else ()


def is_without_task(process: SampledProcess, files: re.Pattern[str] = _LOOPS) -> bool:
    """Whether a process of a pool waits for its next task: in the pool's loop, without code of the user below it."""
    frames = process.stack.frames if process.stack else ()
    loops = [at for at, frame in enumerate(frames) if files.search(frame.file)]
    below = frames[loops[-1] + 1 :] if loops else ()
    # A task in C has no frame of its own.
    gets = bool(below) and below[0].function.endswith("get") and not any(map(is_users, below))
    return gets and not process.is_busy


def is_worker(process: SampledProcess) -> bool:
    """Whether a process is a worker of a data loader."""
    frames = process.stack.frames if process.stack else ()
    return any(LOADER_LOOP.search(frame.file) for frame in frames)


def has_lost_task(process: SampledProcess, children: Iterable[SampledProcess]) -> bool:
    """Whether a process waits for a pool all of whose processes wait for tasks, and none of its threads runs code of the user.

    `multiprocessing` doesn't do a task again whose process was killed, and its thread for results ends with the first one that
    can't be unpickled (python/cpython#66587, #79492).
    """
    wait = wait_of(process.stack.frames) if process.stack else None
    workers = [each for each in children if _is_of_pool(each)]
    return (
        wait is not None
        and wait.what == _POOL
        and not process.goes_on
        and not any(is_users(frame) for stack in process.others for frame in stack.frames)
        and bool(workers)
        and all(is_without_task(each, _OF_POOL) for each in workers)
    )


def _is_of_pool(process: SampledProcess) -> bool:
    frames = process.stack.frames if process.stack else ()
    return any(_OF_POOL.search(frame.file) for frame in frames)


def fits(wait: LibraryWait, frame: PythonFrame) -> bool:
    return bool(wait.file.search(frame.file) and wait.function.search(frame.function))


def sentence_of(processes: Iterable[SampledProcess]) -> str:
    """`Process 812 waits for an item of a queue in fetch (load.py:31).`; "" if the table has no wait of any of them."""
    groups: dict[tuple[LibraryWait | None, str], list[SampledProcess]] = defaultdict(list)
    for each in processes:
        wait = wait_of(each.stack.frames) if each.stack else None
        groups[wait, wording.place([each])].append(each)
    if len(groups) > _MOST or not any(wait for wait, _ in groups):
        return ""
    sentences = [
        _sentence(wait, place, alike) for (wait, place), alike in groups.items() if wait or place
    ]
    if len(groups) == 1:
        ((wait, _), alike), *_ = groups.items()
        if wait is not None and wait.is_own:
            sentences += _on_others(alike)
    return " ".join(sentences)


def _sentence(wait: LibraryWait | None, place: str, alike: Sequence[SampledProcess]) -> str:
    ranks = wording.Ranks(alike)
    stack = alike[0].stack
    if wait is None and len(alike) == 1 and stack and (pause := pause_of(stack.frames)):
        return f"{ranks} {pause}{place}."
    if wait is None:
        return counted(
            len(alike), "{Ranks} is{place}.", "{Ranks} are{place}.", Ranks=ranks, place=place
        )
    return counted(
        len(alike),
        "{Ranks} waits for {what}{place}.",
        "{Ranks} wait for {what}{place}.",
        Ranks=ranks,
        what=what_of(wait, stack.frames if stack else ()),
        place=place,
    )


def _on_others(processes: Sequence[SampledProcess]) -> Iterator[str]:
    """Returns what the other threads do, one of which has to end the wait."""
    if text := in_other_threads(processes):
        yield text[1:]
    elif all(each.last.how.startswith("py-spy") and not each.others for each in processes):
        yield t("No other thread runs code of the program.")
    if len(processes) == 1 and (text := of_busy_pool(processes[0])):
        yield text[1:]


def threads_of(process: SampledProcess) -> str:
    """`writer waits for room in a queue in add (log.py:12).`: what the threads besides the leading one wait for."""
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for stack in process.others:
        frame = next((each for each in reversed(stack.frames) if is_users(each)), None)
        if frame is not None and (wait := wait_of(stack.frames)):
            names[what_of(wait, stack.frames), wording.place_of([frame])].append(stack.thread)
    return "".join(
        " "
        + counted(
            len(threads),
            "{name} waits for {what}{place}.",
            "{n} threads wait for {what}{place}.",
            name=threads[0] or t("A thread"),
            what=what,
            place=place,
        )
        for (what, place), threads in list(names.items())[:_MOST]
    )


def of_busy_pool(process: SampledProcess) -> str:
    """A sentence on the pool of a process of which all threads that run code wait for other ones, "" without such a pool."""
    pools: dict[str, list[ThreadStack]] = defaultdict(list)
    for stack in process.others:
        pool, _, number = stack.thread.rpartition("_")
        if number.isdigit() and any(frame.file.endswith(_POOL_FILE) for frame in stack.frames):
            pools[pool].append(stack)
    for pool, threads in pools.items():
        waits = (wait_of(stack.frames) for stack in threads)
        if all(wait is not None and wait.is_own for wait in waits):
            text = t(
                "All busy threads of {pool} wait: its queued work needs a free one.", pool=pool
            )
            return f" {text}"
    return ""


def in_other_threads(processes: Iterable[SampledProcess]) -> str:
    """A sentence on code of the user in threads besides the leading ones, "" without such code."""
    places = _others(processes)
    return f" {t('Other threads are in {places}.', places=places)}" if places else ""


def _others(processes: Iterable[SampledProcess]) -> str:
    """Where threads besides the leading ones are in code of the user; "" if that is nowhere, or in too many places."""
    places = {
        frame: None
        for each in processes
        for stack in each.others
        if (frame := next((each for each in reversed(stack.frames) if is_users(each)), None))
    }
    if len(places) > _MOST:
        return ""
    return ", ".join(f"{wording.short_function(each)} ({wording.line_of(each)})" for each in places)
