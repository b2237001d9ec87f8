"""One file per explainer: formula, reference, departure from the paper, cost.

An explainer is a frozen dataclass of its settings, whose `repr` is stored with the scores. What else it declares is said by
`Method` (it looks into the model) and `Control` (it reads the stored tokens alone) in `heval_core/catalogue.py`: pages, the
command line, costs and colours follow from that. A module offers it as `PLUGIN`.
Modules import torch and captum inside functions only, so that publishing and browsing never do.
"""
