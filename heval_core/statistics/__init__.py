"""Ranks and ties, bootstrap, values on halves, paired tests, rank correlation, sparse fits: no model, no store."""
