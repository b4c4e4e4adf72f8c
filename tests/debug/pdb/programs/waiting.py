"""A program that waits in pdb on a port, as Ray's own debugger does it: `waiting.py` prints the port, and how it ended.

The class has Ray's name for its only instance, which is the way to its breakpoints from outside.
"""

import re
import socket
import sys
import types
from pdb import Pdb


class RemotePdb(Pdb):
    active_instance = None

    def __init__(self, connection):
        self.connection = connection
        self.file = connection.makefile("rw")
        super().__init__(stdin=self, stdout=self)
        RemotePdb.active_instance = self

    def readline(self):
        return self.file.readline()

    def write(self, text):
        self.connection.sendall(re.sub("\r?\n", "\r\n", text).encode())

    def flush(self):
        pass

    def _close(self):
        self.file.close()
        self.connection.close()

    def do_continue(self, arg):
        self._close()
        return super().do_continue(arg)

    do_c = do_cont = do_continue

    def do_remote(self, arg):
        return self.do_continue(arg)


def as_module_of_ray():
    for name in ("ray", "ray.util", "ray.util.rpdb"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["ray"].util = sys.modules["ray.util"]
    sys.modules["ray.util"].rpdb = sys.modules["ray.util.rpdb"]
    sys.modules["ray.util.rpdb"]._RemotePdb = RemotePdb


def work(pdb, hostile):
    total = 0
    pdb.set_trace()
    for step in range(3):
        total += step  # stands: body
    return total


def main():
    as_module_of_ray()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        print(listening.getsockname()[1], flush=True)
        connection, _ = listening.accept()
    try:
        print(
            "returned", work(RemotePdb(connection), "\x1b]0;title\x07\x9b31mred\u202e"), flush=True
        )
    except BaseException as error:
        print("raised", type(error).__name__, flush=True)


main()
