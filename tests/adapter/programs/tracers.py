"""Trace functions that the program sets, in another thread and in the main thread."""

import io
import pdb
import sys
import threading

import setting

seen = set()


def record(frame, event, argument):
    seen.add(frame.f_code.co_filename.rpartition("/")[2])


def called():
    return 1  # called


breakpoint()
thread = threading.Thread(target=setting.trace, args=(None,))
thread.start()
thread.join()
called()
setting.trace(record)
called()
setting.trace(None)
output = io.StringIO()
pdb.Pdb(stdin=io.StringIO("continue\n"), stdout=output).set_trace()
print(output.getvalue().splitlines()[0])  # prompt
print(*sorted(seen), flush=True)
sys.stdin.readline()
breakpoint()
called()
print("done", flush=True)
