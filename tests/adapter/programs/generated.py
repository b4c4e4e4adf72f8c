"""Code in a file that only the worker has, and code without a file."""

import sys
from pathlib import Path

folder = sys.argv[1]
text = "reward = 7\nbreakpoint()\nprint('reward', reward, flush=True)\n"
Path(folder, "only_here.py").write_text(text)
sys.path.insert(0, folder)
import only_here  # noqa: E402, F401

exec("secret = 1\nbreakpoint()\nprint(secret)\n")
print("done", flush=True)
