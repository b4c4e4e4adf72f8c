"""A helper of an agent, in a module of its own."""

import time


def wait_for_quota():
    time.sleep(0.05)
