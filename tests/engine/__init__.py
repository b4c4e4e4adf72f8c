"""A real inference server for tests: llama.cpp with a model of half a million parameters that is made here."""
