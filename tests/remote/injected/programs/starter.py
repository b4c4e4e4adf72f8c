"""Starts started.py, or becomes it, and ends with its exit code."""

import os
import sys
from pathlib import Path

how = sys.argv[1]  # stop: starts
command = [sys.executable, str(Path(__file__).with_name("started.py")), how]
environ = {**os.environ, "OWN": "1"}
if how == "execvpe":
    os.execvpe("env", ["env", *command], environ)
elif how == "fork":
    input()
    if (pid := os.fork()) == 0:
        print("forked", flush=True)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
elif how == "clean":
    os.execve(sys.executable, command, {})
elif how == "spawnve":
    code = os.spawnve(os.P_WAIT, sys.executable, command, environ)
else:
    pid = os.posix_spawn(sys.executable, command, environ)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(code)
