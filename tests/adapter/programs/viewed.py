"""A function with values to view; its local variables have the names of what a reader would need itself."""


class Quiet:
    """Writes down each time that its code runs."""

    calls = 0

    def __repr__(self):
        Quiet.calls += 1
        return "quiet"

    __len__ = __bool__ = __repr__

    @property
    def loss(self):
        Quiet.calls += 1
        return 2.5


def train(exec, compile, globals, loss, batch, quiet):
    breakpoint()
    loss = loss * 2
    breakpoint()
    print("calls", Quiet.calls, flush=True)


train(1, True, {}, 0.42131313, {"ids": [1, 2], "names": {"a": (3.5,)}}, Quiet())
print("done", flush=True)
