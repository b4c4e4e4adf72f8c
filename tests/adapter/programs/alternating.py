"""A line whose condition fails in every other pass."""

breakpoint()
for n in range(31):
    square = n * n  # alternates
print("done", square, flush=True)
