"""What metrics share, below all of them: a metric imports from here and from `heval_core.records`, never another metric."""
