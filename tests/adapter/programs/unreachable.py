"""Lines with breakpoints at which debugpy doesn't stop."""

import sys

import setting


def looped(loss):
    for _ in range(3):
        loss = loss * 2  # fails
    return loss


def traced():
    setting.trace(None)
    return 1  # replaced


breakpoint()
looped(1.0)
traced()
print("done", sys.gettrace(), flush=True)
