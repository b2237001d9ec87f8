"""Code that metrics share: a metric imports from here and from `heval_core.records`, never from another metric."""
