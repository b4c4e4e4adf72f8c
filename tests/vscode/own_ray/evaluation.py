"""A module that the run never imports: a breakpoint in here stops no worker."""


def evaluate(steps: int) -> float:
    score = steps / 10
    return score  # [score]


if __name__ == "__main__":
    print("score", evaluate(3))
