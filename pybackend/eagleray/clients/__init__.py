"""One module per outside world; a foreign error is mapped to the catalogue here, once."""
