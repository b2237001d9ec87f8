"""WiCE: sentences of Wikipedia, and which sentences of the web page that they cite support them, by people.

Source: github.com/ryokamoi/wice, `data/entailment_retrieval/claim/dev.jsonl` (`claims-dev.jsonl.gz`), named: `wice=FILE`.
Licence: annotations ODC-BY; texts CC BY-SA (Wikipedia) and Common Crawl's terms, so none is a part of this program.
Reference: Kamoi et al. 2023, "WiCE: Real-World Entailment for Claims in Wikipedia", arXiv 2303.01432.
Fields: `claim`, `evidence` (the page's sentences), `supporting_sentences` (sets of their numbers: any one set supports the
claim), `label`, `meta.id`, `meta.claim_title`.
Records: 349 claims, of which 319 have a set that is not empty. Claims use other words than their sources, so that words in
common say less. `run --answers` lets models read the claims, and asks explainers which sentences each rests on.
Departure: pages are long, so that most of one is left out: what stands nearest to a sentence of any set remains, at most
LETTERS letters (`_quoted.window` has the rule, which looks at no explainer). The question that is asked is what the text says
about the article's title.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heval_core.datasets._forms import Form
from heval_core.datasets._quoted import Supported, sentence_spans, window
from heval_core.datasets._reading import Origin, Record, json_lines, locate, read_each
from heval_core.datasets._wikipedia_claims import LETTERS, about_claim, evidence_of

_FORM = Form(known=("claim", "evidence"))
_ORIGIN = Origin("claims-dev.jsonl.gz", "github.com/ryokamoi/wice")


@dataclass(frozen=True)
class Wice:
    """path: a file with the fields above; by default from the data folder. letters: of a page that are read, about."""

    path: str | None = None
    letters: int = LETTERS

    key = "wice"
    title = "WiCE"
    reference = "Kamoi et al. 2023, arXiv 2303.01432"
    long = True
    of_people = True

    def facts(self) -> Iterator[Record]:
        """Yield the claims. Raises HEvalError if the file is missing or empty."""
        yield from read_each(json_lines(locate(self.key, self.path, _ORIGIN), _FORM), self._supported)

    def _supported(self, record: dict[str, Any]) -> Supported:
        sentences, sets = evidence_of(record)
        text, starts = window(sentences, {number for one in sets for number in one}, self.letters)
        support = tuple(sentence_spans(0, sentences, starts, one) for one in sets)
        about = about_claim(record, self.key)
        return Supported(**about, conflicting=(), documents=(text,), spans=(), support=support)


PLUGIN = Wice()
