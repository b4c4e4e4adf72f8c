"""The shapes of `--json`: what scripts may rely on, independent of what editor and sidecar exchange.

Each shape lists its fields with their meaning; docs/command-line.md prints them, and tests keep both. A field is added
by adding a line to the module of its subject; none is renamed or removed without an entry in CHANGELOG.
"""
