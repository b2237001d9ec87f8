"""HEval: which highlight explanations tell the truth about where a language model's answer came from.

`explain` explains one prompt, in a notebook for instance, `explain_answer` a whole answer (`heval_core/explaining/api.py`),
`trace` a log of somebody's answers (`log_trace.py`);
beside them stand the records that they give, and the metrics' formulas. `dir(heval_core)` lists them. Import it before torch,
whose threads read how they shall wait when it is loaded: `wait_passively` says so.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # editors and type checkers see them; importing the package costs nothing
    from heval_core.explaining.answer import Answer
    from heval_core.explaining.api import Explanation, explain, explain_answer
    from heval_core.explaining.log_trace import LogTrace, trace
    from heval_core.metrics import (
        aopc,
        group_rank_margin,
        instance_rank_margin,
        mdl,
        nmutinf,
        rank_at_k,
        reciprocal_rank,
    )  # fmt: skip
    from heval_core.records import Attribution, Behaviour, Fact, HEvalError, Instance, Passage, Span, TokenisedPrompt
    from heval_core.records.whole_answers import AnswerSentence, AnswerWord, Bounds, Citation

__version__ = "0.1.0"
__all__ = [
    "Answer", "AnswerSentence", "AnswerWord", "Attribution", "Behaviour", "Bounds", "Citation", "Explanation", "Fact",
    "HEvalError", "Instance", "LogTrace", "Passage", "Span", "TokenisedPrompt", "aopc", "explain", "explain_answer",
    "group_rank_margin", "instance_rank_margin", "mdl", "nmutinf", "rank_at_k", "reciprocal_rank", "trace",
]  # fmt: skip
# Where they stand, from the first that has a name on; they are imported when they are asked for.
_MODULES = ("records", "records.whole_answers", "metrics", "explaining.api", "explaining.answer", "explaining.log_trace")


def wait_passively() -> None:
    """Make threads of torch that wait leave their core to others, unless the user has said otherwise.

    Theirs is to spin: beside one other busy process, two that spin take ten times as long as one. Where torch is loaded
    already it is too late.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ.update(OMP_WAIT_POLICY="PASSIVE", GOMP_SPINCOUNT="0")


wait_passively()


def __getattr__(name: str) -> Any:
    for room in _MODULES if name in __all__ else ():
        module = importlib.import_module(f"heval_core.{room}")
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
