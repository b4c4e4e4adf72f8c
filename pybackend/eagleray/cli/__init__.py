"""The `eagleray` command, a thin face over the features."""
