"""Pure Python in the file of a breakpoint that is never reached: prints the CPU seconds of a loop and of calls."""

import json
import time


def never() -> int:
    return 1  # stop: never


def looped() -> float:
    begun, total = time.process_time(), 0
    for turn in range(1_500_000):
        total += turn & 3
    return time.process_time() - begun


def small() -> None:
    pass


def called() -> float:
    begun = time.process_time()
    for _ in range(300_000):
        small()
    return time.process_time() - begun


print(json.dumps([min(looped() for _ in range(5)), min(called() for _ in range(5))]), flush=True)
