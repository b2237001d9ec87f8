"""Trains the demo models from scratch, so that the explorer can show true model behaviour without a network."""

import heval_core  # noqa: F401  (before torch: it says how torch's threads wait)
