"""WiCE's words: which words of a claim nothing in the cited web page supports, by people.

Source: github.com/ryokamoi/wice, `data/non_supported_tokens/dev.jsonl` (`non_supported_tokens-dev.jsonl.gz`), named:
`wice_words=FILE`. Licence: as `wice`, so no text of it is a part of this program.
Reference: Kamoi et al. 2023, "WiCE: Real-World Entailment for Claims in Wikipedia", arXiv 2303.01432, section 3.4.
Fields: those of `wice`, and `claim_tokens` with `non_supported_spans` (of each, whether nothing supports it).
Records: 124 claims of `dev`, 374 of `train`, all of them partially supported; .28 and .31 of their words are not.
`run --answers` lets models read the claims, and asks whether what explainers say of each word tells which these are.
Departure: a part of the page is read, by the rule of `wice`: what is near the sentences that support the rest of the claim.
Tokens without a letter or digit are no words.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heval_core.datasets._forms import Form
from heval_core.datasets._quoted import Worded, window
from heval_core.datasets._reading import Malformed, Origin, Record, are_texts, json_lines, locate, read_each
from heval_core.datasets._wikipedia_claims import LETTERS, about_claim, evidence_of

_FORM = Form(known=("claim", "claim_tokens", "evidence"))
_ORIGIN = Origin("non_supported_tokens-dev.jsonl.gz", "github.com/ryokamoi/wice")


@dataclass(frozen=True)
class WiceWords:
    """path: a file with the fields above; by default from the data folder. letters: of a page that are read, about."""

    path: str | None = None
    letters: int = LETTERS

    key = "wice_words"
    title = "WiCE, words"
    reference = "Kamoi et al. 2023, arXiv 2303.01432"
    long = True
    of_people = True

    def facts(self) -> Iterator[Record]:
        """Yield the claims. Raises HEvalError if the file is missing or empty."""
        yield from read_each(json_lines(locate(self.key, self.path, _ORIGIN), _FORM), self._worded)

    def _worded(self, record: dict[str, Any]) -> Worded:
        sentences, sets = evidence_of(record)
        text, _ = window(sentences, {number for one in sets for number in one}, self.letters)
        about = about_claim(record, self.key)
        words = _words(about["answer"], record.get("claim_tokens"), record.get("non_supported_spans"))
        return Worded(**about, conflicting=(), documents=(text,), spans=(), words=words)


def _words(claim: str, tokens: Any, unsupported: Any) -> tuple[tuple[int, int, bool], ...]:
    """Find the words in the claim: (start, end, whether nothing supports it)."""
    if not are_texts(tokens) or not isinstance(unsupported, list) or len(unsupported) != len(tokens):
        raise Malformed("'claim_tokens' should be a list of texts, and 'non_supported_spans' one of as many yes or no")
    end, words = 0, []
    for token, alone in zip(tokens, unsupported, strict=True):
        start = claim.find(token, end)
        if start < 0:
            raise Malformed(f"'claim_tokens' has {token!r}, which does not follow in the claim")
        end = start + len(token)
        if any(map(str.isalnum, token)):
            words.append((start, end, bool(alone)))
    return tuple(words)


PLUGIN = WiceWords()
