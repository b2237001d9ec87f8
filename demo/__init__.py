"""Trains the demo models from scratch, so that the explorer can show true model behaviour without a network."""
