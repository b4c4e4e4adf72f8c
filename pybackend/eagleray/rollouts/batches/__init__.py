"""Saved batches: what is in their tensors, batches made of dumps, and scripts that train on one without an engine."""
