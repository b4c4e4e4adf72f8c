"""Texts of values in a stopped worker, bounded in time, with the shape of tensors and arrays: sent there with `in_worker`.

debugpy shows all variables of a frame in one answer, so one `__repr__` that doesn't end would keep the others away
(microsoft/debugpy#1660).
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from typing import Any

# Seconds for the text of a value, and for the next values of a type that took longer.
VALUE_S = 0.5
NEXT_S = 0.05
# How often a `__repr__` that catches everything is interrupted.
INTERRUPTS = 5
SIMPLE = (bool, int, float, complex, str, bytes, type(None))


class ValueTooSlow(BaseException):
    """Interrupts the text of a value; no `except Exception` of a `__repr__` catches it."""


def bound_values(_: Any) -> None:
    """Makes debugpy show another text for a value whose own takes too long, and the shape of a tensor or array."""
    from _pydevd_bundle import pydevd_safe_repr

    kind = pydevd_safe_repr.SafeRepr
    original = kind.__call__
    slow = set()

    def text(self: Any, value: Any) -> Any:
        if type(value) in SIMPLE:
            return original(self, value)
        name = type.__repr__(type(value))[8:-2]
        try:
            return in_time(
                lambda: shape_text(self, value) + original(self, value),
                NEXT_S if name in slow else VALUE_S,
            )
        except ValueTooSlow:
            slow.add(name)
            return f"<{name}: its text takes longer than {VALUE_S} s>"

    kind.__call__ = text


def shape_text(presentation: Any, value: Any) -> str:
    """Returns "[8, 512] float32 cpu: " for a tensor, "" for any other value or where the text is to be copied."""
    is_copied = presentation.raw_value or presentation.maxother_outer > 2**16
    for module, name in () if is_copied else (("torch", "Tensor"), ("numpy", "ndarray")):
        array = getattr(sys.modules.get(module), name, None)
        if array is not None and isinstance(value, array):
            dtype = str(value.dtype).replace("torch.", "")
            device = f" {value.device}" if module == "torch" else ""
            return f"{list(value.shape)} {dtype}{device}: "
    return ""


def in_time(function: Any, seconds: float) -> Any:
    """Calls `function`; raises ValueTooSlow if it still runs Python code after `seconds`.

    Code in C is not interrupted before it returns.
    """
    caller = threading.get_ident()
    waiting = threading.Lock()
    waiting.acquire()
    # Lists, since each of their methods runs as a whole, while an interrupt may leave an Event half set.
    ended: list[int] = []
    sending: list[int] = []

    def watch() -> None:
        for _ in range(INTERRUPTS):
            if waiting.acquire(timeout=seconds):
                return
            sending.append(1)
            if not ended:
                interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
                interrupt(ctypes.c_ulong(caller), ctypes.py_object(ValueTooSlow))
            sending.clear()

    def end() -> None:
        while True:
            try:
                ended.append(1)
                while sending:
                    time.sleep(0.0001)
                # An interrupt that was sent arrives here.  Taking it back instead makes a traced program of Python 3.11
                # hang, where the flag of a pending interrupt would stay set.
                for _ in range(10):
                    pass
                break
            except ValueTooSlow:
                continue
        waiting.release()

    thread: Any = threading.Thread(target=watch, name="Eagleray", daemon=True)
    thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True
    try:
        thread.start()
        return function()
    finally:
        end()
