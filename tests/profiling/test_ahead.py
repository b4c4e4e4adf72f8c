"""Reports that come are exported before somebody opens them: one after another, gently, and not where room is short."""

from __future__ import annotations
