"""One file per technique: a way to produce an answer, which may change how the model uses its context.

A technique is a frozen dataclass of its options, offered as `PLUGIN`. `Technique` in `heval_core/plugins/protocols.py` lists
what it declares, `shared.base.Base` has what most of them have in common. Every technique answers in the same four steps, each
of which it may change: the model (`applied`), the prompts with documents and without (`prompts`, `prompts_alone`), the two
passes, and the answer's scores from their logits (`combined`). So techniques that only combine logits share the two passes;
those that look at the pass with documents too (`seeing`) share it with them.

Formulas are public functions of NumPy arrays or torch tensors: `from heval_core.techniques import cad`. Importing one never
imports torch. No module has a formula's name: imported, it would stand in the function's place.
Source: CUB (arXiv 2505.16518), and what each module names.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heval_core.techniques.adaptive_context_aware import adacad
    from heval_core.techniques.adaptive_contrastive import acd
    from heval_core.techniques.context_aware import cad
    from heval_core.techniques.context_fidelity import cfb
    from heval_core.techniques.entropy_constraint import coiecd
    from heval_core.techniques.shared.context_use import bcu, ccu, pareto_front

__all__ = ["acd", "adacad", "bcu", "cad", "ccu", "cfb", "coiecd", "pareto_front"]
# The formulas, and the modules that have them, which are imported when one is asked for.
FORMULAS = {
    "adacad": "adaptive_context_aware", "acd": "adaptive_contrastive", "cad": "context_aware", "coiecd": "entropy_constraint",
    "cfb": "context_fidelity",
    **dict.fromkeys(("bcu", "ccu", "pareto_front"), "shared.context_use"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in FORMULAS:
        return getattr(importlib.import_module(f"{__name__}.{FORMULAS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
