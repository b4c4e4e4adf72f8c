"""Does the same as ray/util/debugpy.py, without a cluster: one port per process, wait for a client, stop."""

import importlib
import json
import os
import sys
import threading
from pathlib import Path

POST_MORTEM_ERROR_UUID = "post_mortem_error_uuid"

lock = threading.Lock()
port = None
# Written to a file whenever a thread begins or ends to wait, as Ray's num_paused_threads is.
waiting = 0


def _tell():
    new = Path(os.environ["PAUSED_FILE"] + ".new")
    new.write_text(json.dumps({"port": port, "waiting": waiting, "pid": os.getpid()}))
    new.replace(os.environ["PAUSED_FILE"])


def set_trace(breakpoint_uuid=None):
    global port, waiting
    debugpy = importlib.import_module("debugpy")
    with lock:
        if port is None:
            port = debugpy.listen(("127.0.0.1", 0))[1]
    sys.__breakpointhook__ = set_trace
    sys.breakpointhook = set_trace
    import builtins

    builtins.breakpoint = set_trace
    with lock:
        waiting += 1
        _tell()
    try:
        debugpy.wait_for_client()
    finally:
        with lock:
            waiting -= 1
            _tell()
    if breakpoint_uuid == POST_MORTEM_ERROR_UUID:
        _debugpy_excepthook()
    else:
        _debugpy_breakpoint()


def _debugpy_breakpoint():
    import pydevd

    pydevd.settrace(stop_at_frame=sys._getframe().f_back)


def _debugpy_excepthook():
    import pydevd

    py_db = pydevd.get_global_debugger()
    thread = threading.current_thread()
    additional_info = py_db.set_additional_thread_info(thread)
    additional_info.is_tracing += 1
    try:
        error = sys.exc_info()
        py_db.stop_on_unhandled_exception(py_db, thread, additional_info, error)
        sys.excepthook(error[0], error[1], error[2])
    finally:
        additional_info.is_tracing -= 1


def _post_mortem():
    return set_trace(POST_MORTEM_ERROR_UUID)
