"""Evaluates a store's cells, when results are published and when a page asks. No SQL and no model here."""
