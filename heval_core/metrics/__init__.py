"""One file per metric, pure NumPy: arrays in, named tuple out. A metric's settings are a frozen dataclass.

A metric module has its formula as public functions, and offers `PLUGIN`: `key`, `title`, `question` (RQ1, RQ2 or RQ3),
`higher_is_better`, `uses_k`, `each(cell, k)` for values of single instances (`shared.estimate.Each`, or nothing), and
`over(cell, k)` for values of the whole cell (`shared.estimate.Estimate`, with what its interval is made from). `of_all`, where
a metric has it, computes what was prepared of many cells together. Each value stands beside its chance level and the best
there can be. Undefined is NaN with a reason, never 0.
"""
