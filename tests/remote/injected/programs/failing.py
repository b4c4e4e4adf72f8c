"""A program that prints on both streams, starts a child and fails."""

import os
import subprocess
import sys


def fail(numerator):
    return numerator / 0  # stop: fails


print("out", sys.argv[1:], [entry for entry in sys.path if "eagleray_run" in entry], flush=True)
print("err", file=sys.stderr, flush=True)
child = "import sys; print('child', 'debugpy' in sys.modules)"
subprocess.run([sys.executable, "-c", child], check=True)
if os.fork() == 0:
    print("forked", "debugpy" in sys.modules, flush=True)
    os._exit(0)
os.wait()
fail(12)
