"""The language server that the editor talks to; the only place that knows pygls."""
