"""WiCE: sentences of Wikipedia, and which sentences of the web page that they cite support them, by people.

Source: github.com/ryokamoi/wice, `data/entailment_retrieval/claim/dev.jsonl` (`claims-dev.jsonl.gz`), named: `wice=FILE`.
Licence: annotations ODC-BY; texts CC BY-SA (Wikipedia) and Common Crawl's terms, so none is a part of this program.
Reference: Kamoi et al. 2023, "WiCE: Real-World Entailment for Claims in Wikipedia", arXiv 2303.01432.
Fields: `claim`, `evidence` (the page's sentences), `supporting_sentences` (sets of their numbers: any one set supports the
claim), `label`, `meta.id`, `meta.claim_title`.
Records: 349 claims, of which 319 have a set that is not empty. Claims use other words than their sources, so that words in
common say less. `run --answers` lets models read the claims, and asks explainers which sentences each rests on.
Departure: pages are long, so that most of one is left out. Rule: sentences are taken by their distance to the nearest one of
any set, the earlier first of two, while all of them have at most LETTERS letters; they stand in the page's order. No explainer
is looked at. The question that is asked is what the text says about the article's title.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heval_core.datasets._forms import Form
from heval_core.datasets._quoted import Quoted
from heval_core.datasets._reading import Malformed, Origin, Record, are_texts, json_lines, locate, read_each, text_of
from heval_core.records import Dropped

_FORM = Form(known=("claim", "evidence"))
_ORIGIN = Origin("claims-dev.jsonl.gz", "github.com/ryokamoi/wice")
LETTERS = 2_000


@dataclass(frozen=True, slots=True)
class Supported(Quoted):
    """A claim as `answer`, and its page as the one document. support: sets of (document, first letter, last + 1)."""

    support: tuple[tuple[tuple[int, int, int], ...], ...] = ()


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
        evidence, sets = record.get("evidence"), record.get("supporting_sentences")
        if not are_texts(evidence) or not isinstance(sets, list):
            raise Malformed("'evidence' should be a list of texts, and 'supporting_sentences' one of lists of numbers")
        wrong = [number for one in sets for number in one if not isinstance(number, int) or not 0 <= number < len(evidence)]
        if wrong:
            raise Malformed(f"'supporting_sentences' names sentence {wrong[0]}, of {len(evidence)}")
        if not any(sets):
            raise Dropped("answer not in document")
        text, starts = window(evidence, {number for one in sets for number in one}, self.letters)
        spans = {number: (0, start, start + len(evidence[number].strip())) for number, start in starts.items()}
        title = text_of(record, "meta", "claim_title")
        return Supported(
            text_of(record, "meta", "id"),
            self.key,
            subject=title,
            relation="supported",
            question=f"What does the text say about {title}?",
            answer=text_of(record, "claim"),
            conflicting=(),
            documents=(text,),
            spans=(),
            support=tuple(tuple(spans[number] for number in sorted(set(one))) for one in sets if one),
        )


def window(sentences: list[str], gold: set[int], letters: int) -> tuple[str, dict[int, int]]:
    """Return a part of a page, a line for each sentence, and where each sentence that is in it begins.

    >>> window(["One.", "Two.", "Three.", "Four."], {2}, 15)
    ('Two.\\nThree.', {1: 0, 2: 5})
    """
    by_distance = sorted(range(len(sentences)), key=lambda number: (min(abs(number - one) for one in gold), number))
    taken, length = set[int](), 0
    for number in by_distance:
        length += len(sentences[number].strip()) + 1
        if number not in gold and length > letters:
            break
        taken |= {number} if sentences[number].strip() else set()
    text, starts = "", dict[int, int]()
    for number in sorted(taken):
        text += "\n" if text else ""
        starts[number] = len(text)
        text += sentences[number].strip()
    return text, starts


PLUGIN = Wice()
