"""How fast it is here, beside others: `table` on real models, `techniques`, `citations`, `answers` as ratios, `threads` idle
and beside a busy process, `gpu` on a card.

What is compared is timed in turns, in one run, and its scores are compared too: a ratio only makes sense if both compute the
same. Our time includes the clean pass, as in the batch job. No test asserts a speed.
"""

import heval_core  # noqa: F401  (before torch: it says how torch's threads wait)
