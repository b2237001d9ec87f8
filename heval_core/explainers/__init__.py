"""One file per explainer: formula, reference, departure from the paper, cost.

An explainer is a frozen dataclass of its settings, whose `repr` is stored with the scores. `Method` (looks into the model) and
`Control` (reads stored tokens only) in `heval_core/plugins/protocols.py` list what else it declares; pages, the command line,
costs and colours follow from that. A module offers it as `PLUGIN`.
Modules import torch and captum inside functions only, so that publishing and browsing never do.
"""
