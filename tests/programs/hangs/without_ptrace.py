"""Runs a program that the kernel refuses to trace or read other processes, as a container or `ptrace_scope` does.

python without_ptrace.py PROGRAM ARGUMENTS
"""

import ctypes
import os
import platform
import struct
import sys

_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _EPERM = 0x7FFF0000, 0x00050001
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
# ptrace and process_vm_readv.
_CALLS = {"x86_64": (101, 310), "aarch64": (117, 270)}[platform.machine()]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse() -> None:
    """This process, and what it becomes, can't trace any more."""
    rows = [(_LOAD, 0, 0, 0)]
    rows += [(_JUMP_EQUAL, len(_CALLS) - at, 0, call) for at, call in enumerate(_CALLS)]
    rows += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _EPERM)]
    text = b"".join(struct.pack("=HBBI", *row) for row in rows)
    libc = ctypes.CDLL(None, use_errno=True)
    program = ctypes.byref(_Program(len(rows), text))
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER, program):
        raise OSError(ctypes.get_errno(), "the filter isn't allowed")


if __name__ == "__main__":
    refuse()
    os.execv(sys.argv[1], sys.argv[1:])
