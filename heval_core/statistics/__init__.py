"""Ranks and ties, bootstrap, values on halves, paired tests, rank correlation: NumPy and SciPy, no model and no store."""
