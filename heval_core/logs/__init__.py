"""Logs of answers that somebody's own system gave: read from the files in use, and what a reader says of them."""
