"""A tool that sets a trace function, as tools for coverage do."""

import ctypes
import sys
import threading


def trace(function):
    sys.settrace(function)


def trace_in_c():
    """As the tracer of coverage, which is written in C: in this thread, then in all new ones."""
    set_trace = ctypes.pythonapi.PyEval_SetTrace
    set_trace.argtypes = [ctypes.c_void_p, ctypes.py_object]
    set_trace(None, None)
    threading.settrace(lambda frame, event, argument: None)
