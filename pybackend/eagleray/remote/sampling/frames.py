"""A frame of a stack, and what its function and file say: noise of a framework, or what a thread waits for."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class PythonFrame(NamedTuple):
    """A frame of Python: `function` is qualified where Python knows that (3.11), `line` 0 where lines don't tell frames apart."""

    function: str
    file: str
    line: int


# Ranks that wait in one collective stand at different lines of it: with TORCH_DISTRIBUTED_DEBUG=DETAIL they wait
# in a check before the collective, otherwise in its `wait` (torch 2.13).  By the folder of the package: a user's project may
# lie in one of such a name, as all do that Ray unpacks below /tmp/ray.
_STANDARD = r"python3[.\d]*t?|python3\d*\.zip"
_INTERNAL = re.compile(
    rf"(^|/((site|dist)-packages|python|{_STANDARD}|pytorch[^/]*)/)"
    r"(torch|ray|asyncio|concurrent|threading\.py|multiprocessing)(/|$)"
    r"|/ray/_private/|/torch/(nn|autograd|distributed|_dynamo)/"
)
_NOISE = re.compile(
    r"(^|\.)(_exception_logger|_time_logger|client_mode_hook|wrap_auto_init|auto_init_wrapper"
    r"|_inject_tracing_into_class|_resume_span|_start_span|actor_method_executor|main_loop)(\.|$)"
)
_NOISE_FILES = re.compile(
    r"(^|/)(ray/_private/workers/default_worker|ray/_raylet|ray/util/tracing/tracing_helper"
    r"|torch/utils/_contextlib|torch/distributed/c10d_logger)\.pyx?$"
)


# The file name of the code that answers from inside a process.
OUR_FILE = "<eagleray>"

# A program of ten thousand ranks has no more different frames; each is looked at again for each rank.
_MOST_FRAMES = 2**16

_LIBRARY = re.compile(
    rf"(^|/)(site-packages|dist-packages|lib(64)?/({_STANDARD})|_?eagleray\w*(/remote)?/injected)/|^<frozen "
)
_DEBUGGER = re.compile(
    r"(^|/)(_pydevd_bundle|pydevd[^/]*|debugpy|pdb\.py|bdb\.py|rpdb\.py)(/|$)|^<eagleray stop>$"
)
_WAITS = re.compile(
    r"(^|\.)_?(do_wait_suspend|wait_for_client|wait_for_attach|interaction|cmdloop|listen"
    r"|wait_until_resumed)$"
)
# Megatron-LM's stages wait for each other in a file of their own, by `synchronize` or by the `wait` of a request.
_COLLECTIVES = (
    "torch/distributed/distributed_c10d.py",
    "/device_communicators/pynccl.py",
    "/pipeline_parallel/p2p_communication.py",
)
# DDP waits in C below them for all ranks, to share buffers before a step and parameters at its start (torch 2.13).
_OF_DDP = re.compile(
    r"(^|\.)(_distributed_broadcast_coalesced|_sync_params_and_buffers|_verify_param_shape_across_processes)$"
)
# Files of code that isn't the user's, for programs to which no more than a pattern travels.
NOT_USERS = "|".join(each.pattern for each in (_LIBRARY, _INTERNAL, _NOISE_FILES))


@lru_cache(_MOST_FRAMES)
def is_users(frame: PythonFrame) -> bool:
    """Whether `frame` is code of the user: not of a library, nor of Python itself."""
    return not (_LIBRARY.search(frame.file) or is_internal(frame.file) or is_noise(frame))


def answers_from_inside(frames: Sequence[PythonFrame]) -> bool:
    """Whether a thread that isn't the main one is ours: `frames` begin with what starts it (`remote/inspecting/injection.py`).

    In a thread of the program that answers for a moment, its own frames come first.
    """
    return any(frame.file == OUR_FILE for frame in frames[:4])


@lru_cache(_MOST_FRAMES)
def waits_for_debugger(frame: PythonFrame) -> bool:
    """Whether a debugger (debugpy, pdb, Ray's) keeps the thread in `frame`; a thread that it only traces runs on."""
    return _DEBUGGER.search(frame.file) is not None and _WAITS.search(frame.function) is not None


@lru_cache(_MOST_FRAMES)
def is_collective(frame: PythonFrame) -> bool:
    """Whether `frame` is in functions of process groups, of PyTorch or of vLLM and SGLang, which block until their partners come."""
    is_ddp = "/torch/" in frame.file and _OF_DDP.search(frame.function) is not None
    return is_ddp or frame.file.endswith(_COLLECTIVES)


def is_backward(frame: PythonFrame) -> bool:
    """Whether `frame` waits for the engine of PyTorch's autograd, whose threads run hooks in Python (torch 2.13)."""
    return frame.function.endswith("_engine_run_backward")


def is_internal(file: str) -> bool:
    """Whether `file` belongs to torch, Ray or Python's own concurrency, where lines don't tell ranks apart."""
    return _INTERNAL.search(file) is not None


@lru_cache(_MOST_FRAMES)
def is_noise(frame: PythonFrame) -> bool:
    """Whether `frame` only wraps a call of the user's code, or is called by what only wraps."""
    return _NOISE.search(frame.function) is not None or _NOISE_FILES.search(frame.file) is not None


def merging_key(frame: PythonFrame) -> PythonFrame:
    """The frame that equal positions share: without its line where lines don't tell ranks apart."""
    # Its line tells the head of a message of `multiprocessing` from the rest.
    is_plain = is_internal(frame.file) and not frame.function.endswith("_recv_bytes")
    return frame._replace(line=0) if is_plain else frame
