"""Commands for inference servers, agents and rollouts."""
