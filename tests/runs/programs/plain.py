"""Prints what it was started with, then does what its first word says."""

import json
import os
import signal
import sys
import time
from pathlib import Path

print(json.dumps({"argv": sys.argv[1:], "cwd": str(Path.cwd()), "given": os.environ.get("GIVEN")}))
if sys.argv[1] == "wait":
    # A keyboard interrupt as a program sees it, and one more step that it takes.
    try:
        while True:
            print("waits", flush=True)
            time.sleep(0.2)
    except KeyboardInterrupt:
        print("interrupted")
        sys.exit(7)
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGINT, lambda *_: print("not interrupted", flush=True))
    print("deaf", flush=True)
    time.sleep(600)
if sys.argv[1] == "code":
    sys.exit(int(sys.argv[2]))
