"""One file per metric, pure NumPy: arrays in, named tuple out. A metric's settings are a frozen dataclass.

A metric module has its formula as public functions, and offers `PLUGIN`: `key`, `title`, `question` (RQ1, RQ2 or RQ3),
`higher_is_better`, `uses_k`, `each(cell, k)` for values of single instances (or nothing), and `over(cell, k)` for
values of the whole cell, as estimates that can be bootstrapped. Undefined is NaN with a reason, never 0.
"""
