"""Integration tests: some rollouts through a framework's own controller, without training."""
