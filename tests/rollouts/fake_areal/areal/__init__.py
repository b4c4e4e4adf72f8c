"""A fake of AReaL: the names that a `RolloutWorkflow` uses, as areal/api of inclusionAI/AReaL 4aef98d8 has them."""
