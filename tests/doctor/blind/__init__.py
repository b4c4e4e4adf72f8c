"""A blind set: lines from issues that no rule was written from."""
