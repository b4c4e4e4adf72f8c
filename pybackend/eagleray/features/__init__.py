"""One folder per feature; a feature imports only those before it."""
