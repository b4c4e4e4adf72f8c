"""Threads that C starts, as Ray's threaded actors have them; each call is a new thread to Python."""

import ctypes
import socket
import sys

from eagleray.remote.injected.debugpy.debugger import DebugpyServer

libc = ctypes.CDLL(None)
debugger = DebugpyServer()


def work(number):
    print("worked", number)  # stop: work


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def call(number):
    debugger.trace_this_thread(number != 2)
    work(number)
    return 0


def in_a_thread_of_c(number):
    thread = ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(thread), None, call, ctypes.c_void_p(number))
    libc.pthread_join(thread, None)


debugger.listen()
with socket.socket(fileno=int(sys.argv[1])) as test, debugger.take_channel() as channel:
    socket.send_fds(test, [b"."], [channel.fileno()])
if not debugger.wait(60):
    sys.exit("nobody came")
for number in (1, 2, 3):
    in_a_thread_of_c(number)
