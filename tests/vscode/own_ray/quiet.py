"""Prints one line, then waits for an engine that never answers."""

import threading


def wait_for_engine() -> None:
    threading.Event().wait()


print("starts", flush=True)
wait_for_engine()
