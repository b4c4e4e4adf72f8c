"""Inference servers: runs that answer OpenAI's API, and addresses at which one already runs."""
