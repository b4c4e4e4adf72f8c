"""The hook that PYTHONBREAKPOINT names in a Ray worker: one frame more at the first breakpoint()."""

import ray.util.debugpy


def set_trace(breakpoint_uuid=None):
    return ray.util.debugpy.set_trace(breakpoint_uuid)


def _post_mortem():
    return ray.util.debugpy._post_mortem()
