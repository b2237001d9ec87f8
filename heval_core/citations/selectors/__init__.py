"""One file per selector: which passages a writer is given. What one declares is in `heval_core/plugins/protocols.py`."""
