"""One file per metric, pure NumPy: arrays in, named tuple out. A metric's settings are a frozen dataclass.

A metric module has its formula as public functions, and offers `PLUGIN`: `key`, `title`, `higher_is_better`, `uses_k`,
`measures` (`shared.measure.Measure`: what pages, comparisons and the report show of it), `each(cell, k)` for values of single
instances (`Each`, or none), and `over(cell, k)` for values of the whole cell (`Value`, with what its interval is computed
from; both in `heval_core.statistics.values`). Each value comes with its chance level and the best possible value. Undefined
is NaN with a reason, never 0.
"""
