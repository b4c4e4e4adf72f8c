"""breakpoint() as the last line of a function, of a loop and of a branch, and before a `with` ends."""

import contextlib


def ends(a):
    a = a + 1
    breakpoint()


def branch(a):
    if a:
        breakpoint()


def loop(n):
    for _ in range(n):
        breakpoint()
    return n


def within():
    with contextlib.nullcontext() as c:
        breakpoint()
    return c


def returned():
    return breakpoint()


def outer():
    ends(1)
    branch(2)
    loop(2)
    within()
    returned()
    ends(2)


outer()
print("done", flush=True)
