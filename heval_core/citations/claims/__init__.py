"""One file per source of claims: claims with passages, and the explanations that came with them.

A source is a frozen dataclass with a `path`, offered as `PLUGIN`. `ClaimData` in `heval_core/plugins/protocols.py` lists what
it declares. A record that cannot be used is a `BadRecord` with its reason, and the rest goes on.
"""
