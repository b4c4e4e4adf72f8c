"""A line with a breakpoint at which debugpy doesn't stop, since a tool traces in C."""

import setting


def traced():
    return 1  # replaced


breakpoint()
setting.trace_in_c()
traced()
print("done", flush=True)
