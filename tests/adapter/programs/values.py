"""A function with variables that are slow to show: a `__repr__` that never ends, and one that catches every exception."""


class Endless:
    def __repr__(self):
        while True:
            pass


class Stubborn:
    def __repr__(self):
        for _ in range(3):
            try:
                while True:
                    pass
            except BaseException:
                continue
        return "Stubborn()"


class Storage:
    """As `torch.UntypedStorage`, whose text has each of its bytes."""

    def __repr__(self):
        return " ".join(str(byte) for byte in iter(int, 1))


def train(first, endless, again, stubborn, storage, loss):
    breakpoint()
    print("trained", loss, flush=True)


train(1, Endless(), Endless(), Stubborn(), Storage(), {"loss": 2.5})
print("done", flush=True)
