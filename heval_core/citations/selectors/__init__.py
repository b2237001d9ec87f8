"""One file per selector: which passages a writer is given. `Selector` in `heval_core/protocols.py` lists what it declares."""
