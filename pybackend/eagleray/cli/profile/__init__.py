"""Commands for recordings and reports."""
