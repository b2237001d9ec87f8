"""One file per metric, pure NumPy: arrays in, named tuple out. A metric's settings are a frozen dataclass.

A metric module has its formula as public functions, and offers `PLUGIN`: `key`, `title`, `higher_is_better`, `uses_k`,
`measures` (`shared.measure.Measure`: what pages, comparisons and the report show of it), `each(cell, k)` for values of single
instances (`Each`, or none), and `over(cell, k)` for values of the whole cell (`Value`, with what its interval is computed
from; both in `heval_core.statistics.values`). Each value comes with its chance level and the best possible value. Undefined
is NaN with a reason, never 0.

The package offers the formulas: `from heval_core.metrics import rank_at_k`. No module has a formula's name: imported, it would
stand in the function's place.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heval_core.metrics.description_length import mdl
    from heval_core.metrics.document_rank import rank_at_k
    from heval_core.metrics.group_margin import group_rank_margin
    from heval_core.metrics.instance_margin import instance_rank_margin
    from heval_core.metrics.mrr import reciprocal_rank
    from heval_core.metrics.mutual_information import nmutinf
    from heval_core.metrics.shared.measured import aopc

__all__ = ["aopc", "group_rank_margin", "instance_rank_margin", "mdl", "nmutinf", "rank_at_k", "reciprocal_rank"]
# The formulas, and the modules that have them, which are imported when one is asked for.
FORMULAS = {
    "mdl": "description_length", "rank_at_k": "document_rank", "group_rank_margin": "group_margin", "aopc": "shared.measured",
    "instance_rank_margin": "instance_margin", "reciprocal_rank": "mrr", "nmutinf": "mutual_information",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in FORMULAS:
        return getattr(importlib.import_module(f"{__name__}.{FORMULAS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
