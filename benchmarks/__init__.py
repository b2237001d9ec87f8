"""How fast it is here, beside others: `table` on real models, `techniques`, `citations`, `answers` as ratios, `gpu` on a card.

What is compared is timed in turns, in one run, and its scores are compared too: a ratio only makes sense if both compute the
same. Our time includes the clean pass, as in the batch job. No test asserts a speed.
"""
