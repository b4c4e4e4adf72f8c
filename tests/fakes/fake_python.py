"""Stands for `python3` on PATH: says as one line of JSON with which words it was called, and some of its environment."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

SAID = ("NCCL_DEBUG", "STEPS", "EAGLERAY_SCRIPT", "EMBODIED_PATH")

if __name__ == "__main__":
    env = {name: os.environ[name] for name in SAID if name in os.environ}
    print("FAKE " + json.dumps({"argv": sys.argv[1:], "cwd": str(Path.cwd()), "env": env}))
