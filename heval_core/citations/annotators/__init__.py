"""One file per annotator: who says which sentences should cite a passage.

An annotator is a frozen dataclass of its options, offered as `PLUGIN`. `Annotator` in `heval_core/plugins/protocols.py` lists
what it declares. Controls read nothing but what a reader sees, and stand beside the others at their chance.
"""
