"""What stands in a prompt where an explanation's tokens are taken out of it: three ways, none of which is any explainer's own.

`baseline`: the token that fa ablates with; measured with it alone, fa is favoured. `drawn`: a token of the language, by its
frequency. `deletion`: nothing; later tokens move up.
Frequencies (decision): of the model's own tokens in the package's passages about every state and the questions about it, in
English. So they depend on the tokenizer alone, and a prompt gets the same tokens in a batch, in a shard of another size, and
by itself; a corpus of its own dataset would tie them to what else was asked. The draw is seeded by the prompt's ids, one for
each position whoever explains it, and never the token that stands there.
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
# All of so many draws for one position are the token that stands there: not with any language's frequencies.
TRIES = 32

_known: WeakKeyDictionary[LanguageModel, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


def frequencies(lm: LanguageModel) -> tuple[np.ndarray, np.ndarray]:
    """Token ids, ascending, and the share of each in the package's own passages and questions."""
    if lm not in _known:
        facts = [fact for fact in catalogue.find("dataset", "country_profiles").facts() if isinstance(fact, Fact)]
        texts = dict.fromkeys(text for fact in facts if fact.own for text in (fact.own.text, fact.question))
        found = lm.tokenizer(list(texts), add_special_tokens=False).input_ids
        counts = Counter(token for ids in found for token in ids)
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
