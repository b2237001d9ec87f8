"""One file per technique: a way to produce an answer, which may change how the model uses its context.

A technique is a frozen dataclass of its options, offered as `PLUGIN`. `Technique` in `heval_core/protocols.py` lists what it
declares, `shared.base.Base` has what most of them have in common. Every technique answers in the same four steps, each of
which it may change: the model (`applied`), the prompt with the documents and the one without them (`asked`), the two passes,
and the answer's scores from their logits (`combined`). So techniques that only combine logits share the two passes.

Formulas are public functions of NumPy arrays or torch tensors, and this package offers them. Importing it never imports torch.
Source: CUB (arXiv 2505.16518), and what each module names.
"""

from heval_core.techniques.acd import acd
from heval_core.techniques.adacad import adacad
from heval_core.techniques.cad import cad
from heval_core.techniques.coiecd import coiecd
from heval_core.techniques.shared.context_use import bcu, ccu, pareto_front

__all__ = ["acd", "adacad", "bcu", "cad", "ccu", "coiecd", "pareto_front"]
