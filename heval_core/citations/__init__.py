"""The third study: does an explanation rest on what it cites, and can a reader find that out?

A model explains a verdict on a claim and cites numbered passages. The citation of one passage is masked, and annotators say
which sentences should carry it: people, language models, an entailment model, and explainers, which say what the model itself
used. `records` has the words, `claims/` reads them, `selectors/` and `writing` make explanations, `markers` makes the
questions, `annotators/` answers them, `scoring` and `agreement` measure the answers.

The formulas are public functions, and this package offers them. Importing it never imports torch.
Source: Xing, Baldwin and Lau (arXiv 2406.12645).
"""

from heval_core.citations.agreement import krippendorff_alpha as krippendorff_alpha
from heval_core.citations.scoring import set_scores as set_scores
from heval_core.texts.markers import mask as mask
