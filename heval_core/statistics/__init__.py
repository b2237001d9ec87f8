"""Ranks and ties, bootstrap, values on halves, paired tests, rank correlation: NumPy and SciPy only, no model, no store."""
