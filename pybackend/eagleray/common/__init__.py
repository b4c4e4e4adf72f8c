"""What every layer may use: standard library only."""
