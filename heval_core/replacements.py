"""Three ways to take tokens out of a prompt, so that no explainer is measured only in the way that it uses itself.

`baseline`: the token that fa ablates with; alone it would favour fa. `drawn`: a token drawn by its frequency in the language.
`deletion`: no token; later tokens move up.
Frequencies (our decision) are counted in the model's own tokens, over the package's English passages and questions about
every state. They depend on the tokenizer alone, so a prompt gets the same tokens in a batch, in a shard of another size, and
by itself; counted over a prompt's own dataset, they would depend on what else was asked. The draw is seeded by the prompt's
ids: one token for each position, the same for every explainer, and never the original token.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from heval_core import catalogue
from heval_core.records import Fact

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel

REPLACEMENTS = ("baseline", "drawn", "deletion")
# Draws for each position. With a language's frequencies they never all equal the original token.
TRIES = 32

_known: WeakKeyDictionary[LanguageModel, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


def frequencies(lm: LanguageModel) -> tuple[np.ndarray, np.ndarray]:
    """Token ids, ascending, and the share of each in the package's own passages and questions."""
    if lm not in _known:
        facts = [fact for fact in catalogue.find("dataset", "country_profiles").facts() if isinstance(fact, Fact)]
        texts = dict.fromkeys(text for fact in facts if fact.own for text in (fact.own.text, fact.question))
        tokenised = lm.tokenizer(list(texts), add_special_tokens=False).input_ids
        counts = Counter(token for ids in tokenised for token in ids)
        ids = np.array(sorted(counts))
        shares = np.array([counts[token] for token in ids.tolist()], dtype=np.float64)
        _known[lm] = ids, shares / shares.sum()
    return _known[lm]


def drawn(lm: LanguageModel, ids: np.ndarray) -> np.ndarray:
    """(n,) ids of a prompt ▶ (n,) other ids, one for each position, by frequency; the same for the same prompt."""
    seed = int.from_bytes(hashlib.sha256(np.ascontiguousarray(ids, dtype="<i8").tobytes()).digest()[:8], "little")
    known, shares = frequencies(lm)
    draws = np.random.default_rng(seed).choice(known, size=(TRIES, len(ids)), p=shares)
    first = np.argmax(draws != ids, axis=0)
    return np.asarray(draws[first, np.arange(len(ids))])
