"""Workers under nsys: their reports recorded, gathered and read."""
