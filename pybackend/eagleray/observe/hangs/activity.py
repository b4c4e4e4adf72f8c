"""The activity of a process, read from the stack of its leading thread and the kernel's facts about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum

from attrs import frozen

from eagleray.observe.hangs import source_lines
from eagleray.remote.sampling.frames import PythonFrame, is_collective, is_users, waits_for_debugger
from eagleray.remote.sampling.merging import ThreadStack
from eagleray.remote.sampling.node_sampler import ProcessSample
from eagleray.remote.sampling.unwinding import handler_of, is_exit_function, is_tearing_down


class Doing(Enum):
    """The activities of a process, in the order in which they are decided."""

    ENDED = "ended"
    IN_DEBUGGER = "debugger"
    STOPPED = "stopped"
    UNREADABLE = "unreadable"
    INITIALIZING = "initializing"
    LOADING_DATA = "loading data"
    TEARING_DOWN = "tearing down"
    IN_COLLECTIVE = "collective"
    IN_RAY_GET = "ray.get"
    IN_EVENT_LOOP = "event loop"
    IN_KERNEL = "kernel"
    IN_CODE = "code"


@frozen
class Activity:
    """The activity of a process, and its call.

    `call` is the collective, message or `ray.get` it is in, "" for others.  `place` is the innermost frame of the
    user's code, None if there is none.  `handler` is `except`, `finally` or `__exit__` if that frame is in the way out
    of an exception, or of a block that has ended well.
    """

    doing: Doing
    call: str
    place: PythonFrame | None
    handler: str = ""


MESSAGES = (
    *("send", "recv", "isend", "irecv", "batch_isend_irecv"),
    # Calls of Megatron-LM (core/pipeline_parallel/p2p_communication.py).
    *("send_forward", "recv_forward", "send_backward", "recv_backward"),
    *("send_forward_recv_backward", "send_backward_recv_forward"),
    *("send_forward_recv_forward", "send_backward_recv_backward"),
    "send_forward_backward_recv_forward_backward",
)
# Blocks until a collective that was started earlier has ended; torch 2.13 has no Python frame below it.
WAIT = "wait"
# The reductions of DDP and FSDP run within the backward pass, where no Python frame tells that they wait (torch 2.13).
BACKWARD = "backward"

# The store that PyTorch connects to first; libraries make stores of their own, too.
STORE = "TCPStore"

_INITIALIZERS = re.compile(
    r"(^|\.)(init_process_group|init_device_mesh|new_group|new_subgroups|rendezvous|next_rendezvous|_store_based_barrier"
    r"|_new_process_group_helper|_create_c10d_store|_env_rendezvous_handler|_tcp_rendezvous_handler)$"
)
_BACKWARD = re.compile(r"torch/autograd/(graph|__init__)\.py$")
_LOADER = re.compile(r"torch/utils/data/dataloader\.py$")
# Waits for the end of the loader's processes.
_LOADER_END = re.compile(r"(^|\.)_shutdown_workers$")
_RAY_GET = re.compile(r"(^|\.)(get|get_objects|wait)$")
_UNWRAPPED = re.compile(r"(^|\.)_?wrap(per|ped)?\b|<locals>\.")
# Calls that block in C until the work of a process group or of a GPU is done.
_BLOCKING_METHODS = (WAIT, "synchronize", "item", "cpu", "tolist")


def activity(
    sample: ProcessSample, stack: ThreadStack | None, *, is_at_exit: bool = False
) -> Activity:
    """Returns the activity of a process whose leading thread has `stack`, None if it could not be read.

    `is_at_exit`: its main thread has reached the end of the program, so that what is left only keeps it from ending.  A
    collective in a thread still counts as one, unless an exception has ended the program.
    """
    frames = stack.frames if stack is not None else ()
    place = innermost(frames, is_users)
    if sample.reason == "ended":
        return Activity(Doing.ENDED, "", None)
    if sample.state == "t" or any(map(waits_for_debugger, frames)):
        return Activity(Doing.IN_DEBUGGER, "", place)
    if sample.state == "T":
        return Activity(Doing.STOPPED, "", place)
    if not frames:
        return Activity(Doing.UNREADABLE, "", None)
    if any(_INITIALIZERS.search(frame.function) and not is_users(frame) for frame in frames):
        return Activity(Doing.INITIALIZING, outer_name(frames, is_initializer), place)
    if is_store(frames[-1]):
        return Activity(Doing.INITIALIZING, STORE, place)
    if any(_LOADER.search(frame.file) for frame in frames) and not any(
        _LOADER_END.search(frame.function) for frame in frames
    ):
        return Activity(Doing.LOADING_DATA, "", place)
    handler = handler_of(frames)
    call = collective_of(frames, place)
    if sample.printed and (is_at_exit or is_exit_function(frames)):
        return Activity(Doing.TEARING_DOWN, call, place, handler)
    if call and call != "destroy_process_group":
        return Activity(Doing.IN_COLLECTIVE, call, place, handler)
    if is_at_exit or is_tearing_down(frames):
        return Activity(Doing.TEARING_DOWN, call, place, handler)
    return _waiting(sample, frames, place, handler)


def _waiting(
    sample: ProcessSample, frames: Sequence[PythonFrame], place: PythonFrame | None, handler: str
) -> Activity:
    if is_in_ray_get(frames):
        return Activity(Doing.IN_RAY_GET, "ray.get", place, handler)
    if frames[-1].function.endswith("select") and is_in_loop(frames):
        return Activity(Doing.IN_EVENT_LOOP, "", place, handler)
    if sample.state == "D":
        return Activity(Doing.IN_KERNEL, sample.waits_in, place, handler)
    return Activity(Doing.IN_CODE, "", place, handler)


def collective_of(frames: Sequence[PythonFrame], place: PythonFrame | None) -> str:
    """The collective or message in which `frames` wait: `all_reduce`, `recv`, or `wait` for one that was started earlier."""
    name = outer_name(frames, is_collective)
    if name:
        return name
    if any(map(is_functional, frames)):
        # Its public function that comes first, such as `get_model_state_dict` or a DTensor's `full_tensor`.
        return outer_name(frames, _is_distributed) or WAIT
    if _BACKWARD.search(frames[-1].file) and frames[-1].function.endswith("_engine_run_backward"):
        return BACKWARD
    if place is not None and place is frames[-1]:
        called = source_lines.calls_at(place.file, place.line)
        return WAIT if any(method in called for method in _BLOCKING_METHODS) else ""
    return ""


def is_functional(frame: PythonFrame) -> bool:
    """Whether `frame` waits for a collective of a DTensor, whose group no Python code names (torch 2.13)."""
    return frame.file.endswith("torch/distributed/_functional_collectives.py")


def _is_distributed(frame: PythonFrame) -> bool:
    is_private = frame.function.rpartition(".")[2].startswith("_")
    return "/torch/distributed/" in frame.file and not (is_private or is_functional(frame))


def is_initializer(frame: PythonFrame) -> bool:
    return _INITIALIZERS.search(frame.function) is not None


def is_store(frame: PythonFrame) -> bool:
    """Whether `frame` connects to the store of a process group, or serves it and waits for the others."""
    return frame.function.endswith("_create_c10d_store") or (
        is_users(frame) and STORE in source_lines.calls_at(frame.file, frame.line)
    )


def outer_name(frames: Sequence[PythonFrame], belongs: Callable[[PythonFrame], bool]) -> str:
    """The name of the outermost function that `belongs`: that which the user has called, not what that calls."""
    for frame in frames:
        if belongs(frame) and not _UNWRAPPED.search(frame.function):
            return frame.function.rpartition(".")[2]
    return ""


def innermost(
    frames: Sequence[PythonFrame], belongs: Callable[[PythonFrame], bool]
) -> PythonFrame | None:
    return next((frame for frame in reversed(frames) if belongs(frame)), None)


def is_in_loop(frames: Sequence[PythonFrame]) -> bool:
    """Whether an event loop runs there, in its own code or in a task."""
    return any(frame.function.endswith("_run_once") for frame in frames)


def is_in_ray_get(frames: Sequence[PythonFrame]) -> bool:
    return any(_is_ray_get(frame) for frame in frames)


def _is_ray_get(frame: PythonFrame) -> bool:
    if frame.file.endswith("ray/util/placement_group.py"):
        return frame.function == "_call_placement_group_ready"
    return frame.file.endswith("ray/_private/worker.py") and bool(_RAY_GET.search(frame.function))
