"""Reading of what nsys has recorded: one report, summed up."""
