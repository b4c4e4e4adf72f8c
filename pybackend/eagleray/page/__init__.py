"""Pages of the editor as files."""
