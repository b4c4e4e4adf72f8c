"""Ray's own pdb (`RAY_DEBUG=legacy`): the workers that wait in it, and terminals for them."""
