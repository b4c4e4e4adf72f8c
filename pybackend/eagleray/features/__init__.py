"""One folder per feature; features do not import one another."""
