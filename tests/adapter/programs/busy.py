"""Two threads that repeat a step, and spend most of the time in native code."""

import sys
import threading
import time

ended = threading.Event()


def collect():
    samples = 0
    while not ended.is_set():
        time.sleep(0.05)
        samples += 1
    print("collected", flush=True)


threads = [threading.Thread(target=collect, name=f"collector_{n}") for n in range(2)]
breakpoint()
for thread in threads:
    thread.start()
sys.stdin.read()
ended.set()
for thread in threads:
    thread.join()
print("done", flush=True)
