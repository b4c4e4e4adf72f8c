"""Names the first cause in logs and nodes of a program that fails."""
