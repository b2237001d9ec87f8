"""People as annotators: the items of a study, who is asked which, whose answers count, and files that carry them elsewhere.

Nothing here reads or writes a file; `heval_core/store/annotations.py` keeps a study, the page *Annotate* asks.
"""
