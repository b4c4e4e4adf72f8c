"""A module that a policy worker imports: Ray ships the worker's class by value, but this by its file."""


def advance(step: int) -> int:
    """Stands at a breakpoint()."""
    state = {"step": step}
    breakpoint()
    state["step"] += 1  # [advances]
    return state["step"]  # [advanced]
