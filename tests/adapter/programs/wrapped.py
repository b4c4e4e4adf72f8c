"""An actor's method that calls another, both wrapped as Ray wraps them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "site-packages" / "ray"))
from wrapping import wrapped


class Actor:
    @wrapped
    def train(self):
        breakpoint()
        x = self.helper(1)
        y = x + 1
        print("trained", y, flush=True)

    @wrapped
    def helper(self, step):
        print("helps", flush=True)
        return step * 2


Actor().train()
