"""A fake of AReaL, which needs GPUs to be installed: the calls of its rollout controller, as read in 4aef98d8."""
