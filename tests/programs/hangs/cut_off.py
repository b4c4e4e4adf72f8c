"""Two ranks of the trainer in a network of their own, which is cut before they call a collective.

Arguments: the Python with torch, the trainer, a text for its command, and the rank that has no more data, if there is one.
Prints `cut` when no rank reaches the other any more, and ends its ranks when its input ends.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def set_loopback(is_up: bool) -> None:
    with socket.socket() as any_socket:
        name = b"lo".ljust(16, b"\0")
        answer = fcntl.ioctl(any_socket, _GET_FLAGS, name + bytes(24))
        (flags,) = struct.unpack_from("<H", answer, 16)
        flags = flags | _UP if is_up else flags & ~_UP
        fcntl.ioctl(any_socket, _SET_FLAGS, name + struct.pack("<H", flags) + bytes(22))


def main() -> None:
    set_loopback(is_up=True)
    python, trainer, text, *without_data = sys.argv[1:]
    env = {**os.environ, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "lo"}
    # As in a run of Eagleray.
    env |= {"TORCH_FR_BUFFER_SIZE": "2000"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    ranks = [
        subprocess.Popen(
            [python, trainer, "cut_off", text], env={**env, "RANK": str(rank)}, **pipes
        )
        for rank in range(2)
    ]
    try:
        for rank in ranks:
            assert rank.stdout.readline() == b"ready\n"
        set_loopback(is_up=False)
        for number, rank in enumerate(ranks):
            rank.stdin.write(b"end\n" if str(number) in without_data else b"\n")
            rank.stdin.flush()
        print("cut", flush=True)
        sys.stdin.read()
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


main()
