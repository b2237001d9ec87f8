"""Explaining a prompt while somebody waits: the explorer (`client`) asks a child process per model (`child`).

The explorer never imports torch; the child does, and may be killed at any time without harm.
"""
