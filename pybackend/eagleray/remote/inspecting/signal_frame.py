"""The frame on a thread's stack that returns it to its place: a frame like a signal's (x86-64 Linux).

The system call `rt_sigreturn` takes all registers from it.  A borrowed thread runs it when its tracer is gone, so that
a tracer that is killed at any moment does no harm.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

RT_SIGRETURN = 15
# `__restore_rt` of glibc and musl: mov rax, 15; syscall.
RESTORER = b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
# As far from the stack pointer as no leaf function writes, with room to spare.
_BELOW = 1024

_HAS_XSTATE, _HAS_SS, _RESTORES_SS = 1, 2, 4
_SIZE = 8 + 40 + 256 + 8
_MAGIC_BEGIN, _MAGIC_END = 0x46505853, 0x46505845
# Where software may write in the state of the processor, and where its extended part begins and says what is in it.
_SOFTWARE, _HEADER = 464, 512
# Tiles come after all else, are large, and are only saved for threads that have asked for them.
_TILES, _SIZE_WITHOUT_TILES = 3 << 17, 2696
# The values that the kernel keeps in rax while a wait is interrupted (ERESTARTSYS and others in linux/errno.h): for
# calls that it restarts as they were, and for one with a rest of time.
_RESTARTED, _RESTARTED_WITH_REST = (-512, -513, -514), -516
_EINTR = -4


class SignalFrame:
    """A frame for a thread with these registers, to be written at `address`: first the address of `RESTORER`.

    A function that returns to it, or `rt_sigreturn` with the stack pointer behind its first eight bytes, brings the thread
    back.  A wait that was interrupted continues, or returns EINTR as after a signal.
    """

    def __init__(
        self, registers: Mapping[str, int], xstate: bytes, blocked: int, restorer: int
    ) -> None:
        state = _for_signal(xstate)
        state_at = (registers["rsp"] - _BELOW - len(state)) & ~63
        self.address = state_at - _SIZE
        ip, ax = _continued(registers)
        general = struct.pack(
            "<18Q",
            *(registers[name] for name in ("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")),
            *(registers[name] for name in ("rdi", "rsi", "rbp", "rbx", "rdx")),
            ax,
            registers["rcx"],
            registers["rsp"],
            ip,
            registers["eflags"],
        )
        segments = struct.pack("<4H", registers["cs"], 0, 0, registers["ss"])
        self.content = (
            struct.pack("<Q", restorer)
            # Without an own stack for signals, which changes nothing.
            + struct.pack("<5Q", _HAS_XSTATE | _HAS_SS | _RESTORES_SS, 0, 0, 0, 0)
            + general
            + segments
            + struct.pack("<5Q", 0, 0, 0, 0, state_at)
            + bytes(64)
            + struct.pack("<Q", blocked)
            + state
        )

    @property
    def restored_at(self) -> int:
        """The stack pointer for `rt_sigreturn`."""
        return self.address + 8


def _continued(registers: Mapping[str, int]) -> tuple[int, int]:
    """Where the thread continues, and what it has in rax there."""
    result = struct.unpack("<q", struct.pack("<Q", registers["rax"]))[0]
    is_in_syscall = registers["orig_rax"] < 2**63
    if is_in_syscall and result in _RESTARTED:
        return registers["rip"] - 2, registers["orig_rax"]
    if is_in_syscall and result == _RESTARTED_WITH_REST:
        result = _EINTR
    return registers["rip"], result & 0xFFFFFFFFFFFFFFFF


def _for_signal(xstate: bytes) -> bytes:
    """The state of the processor as ptrace gives it, with the values that the kernel needs for a signal's."""
    (features,) = struct.unpack_from("<Q", xstate, _SOFTWARE)
    (used,) = struct.unpack_from("<Q", xstate, _HEADER)
    size = len(xstate)
    if size > _SIZE_WITHOUT_TILES and not used & _TILES:
        size, features = _SIZE_WITHOUT_TILES, features & ~_TILES
    state = bytearray(xstate[:size]) + struct.pack("<I", _MAGIC_END)
    struct.pack_into("<IIQI", state, _SOFTWARE, _MAGIC_BEGIN, size + 4, features, size)
    return bytes(state)
