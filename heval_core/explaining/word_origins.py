"""What each word of an answer rests on: a document, memory, or not to be told; and whether that is true of the model.

Formula: E_d(t) = log p(y_t | x, y before t) - log p(y_t | x - d, y before t), the nats that token t loses without document d;
of several tokens the sum. Its *random level*: the same quantity of 20 texts about something else, of equal length in the
documents' places; the highest of them, or what the best of all documents stays below by chance in 95 of 100 cases
(`citations/annotators/shared/choice.py`), if that is more. Other texts give another level: its *spread* is half of a 95 %
interval, 1.96 times the standard deviation over resamples of the texts. A word rests on *document d* if E_d is the largest,
above `document` nats and its random level, and at least `lead` times the next document's; from *memory* if it loses less than
`memory` nats without any document, and is then still expected with a probability of `known`, or if there is no document; else
it is *unclear*: two documents say the same, say, or the source differs between the level's ends. A sentence's *citations* are
the documents with E_d above `document` nats and its random level on which at least one of its words rests, strongest first:
many small losses are no citation. So chance cites a document in at most 5 of 100 sentences: the level alone would, and the
words only take away.
A method's *first choice* for a selection is the sentence of the documents with the highest sum of its scores.
Reference: ours; leave-one-out as in RAG-E, citations as in ContextCite (arXiv 2409.00729).
"""

import functools
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heval_core.citations.annotators.shared.choice import level_of
from heval_core.prompting.units import Matrix, Unit, indices_in
from heval_core.records import Span
from heval_core.records.whole_answers import MEMORY, UNCLEAR, Bounds, Citation

# Sentences nearly as long as a first choice that are left out beside it, at most.
OTHERS = 5
RESAMPLES = 200


class WordSource(NamedTuple):
    """source: `document 1` …, `memory` or `unclear`. nats: of the strongest document; without documents: of all together."""

    source: str
    nats: float


def source_of(
    by_document: np.ndarray, level: float, spread: float, together: float, alone: float, bounds: Bounds
) -> WordSource:
    """Decide what a word rests on.

    by_document: (D,) E of each. together: the nats lost without all. alone: the log-probability without any document.
    """
    if not len(by_document):
        return WordSource(MEMORY, together)
    if spread:
        low, high = (source_of(by_document, end, 0.0, together, alone, bounds) for end in (level - spread, level + spread))
        return high if low == high else WordSource(UNCLEAR, float(by_document.max()))
    best, *rest = np.sort(by_document)[::-1]
    if best > max(bounds.document, level) and best >= bounds.lead * max(rest, default=0.0):
        return WordSource(f"document {int(by_document.argmax()) + 1}", float(best))
    if abs(together) < bounds.memory and alone >= np.log(bounds.known):
        return WordSource(MEMORY, together)
    return WordSource(UNCLEAR, float(best))


def citations_of(
    by_document: np.ndarray, level: float, spread: float, bounds: Bounds, words: Collection[str]
) -> list[Citation]:
    """Return a sentence's citations. by_document: (D,) E of each for it. words: the sources of its words."""
    order = np.argsort(-by_document, kind="stable")
    cited = [int(number) for number in order if by_document[number] > max(level, bounds.document)]
    return [Citation(n + 1, float(by_document[n]), level, spread) for n in cited if f"document {n + 1}" in words]


def random_level(sampled: np.ndarray, documents: int) -> tuple[float, float]:
    """Compute the random level and its spread; 0 for no texts, and where chance gives less.

    sampled: (draws,) what texts about something else give.
    """
    if not len(sampled):
        return 0.0, 0.0
    chosen = np.random.default_rng(0).integers(0, len(sampled), (RESAMPLES, len(sampled)))
    texts = np.vstack([sampled, sampled[chosen]])
    level, *others = np.fmax(texts.max(axis=1, initial=0.0), level_of(texts, documents))
    return float(level), float(1.96 * np.std(others))


def first_choice(scores: np.ndarray, units: Sequence[Unit], sentences: Sequence[Unit]) -> int | None:
    """Return the number of the sentence with the highest sum of (U,) scores of a selection; None where none is above 0."""
    indices = indices_in(units, sentences)
    sums = np.bincount(indices[indices >= 0], scores[indices >= 0], len(sentences))
    return int(sums.argmax()) if sums.max(initial=0.0) > 0 else None


def verdict(choices: Sequence[int], columns: Span, left_out: Matrix | None, sentences: Sequence[Unit]) -> dict[str, Any]:
    """Judge whether the first choice for a selection is true of the model.

    choices: the first choice of each method. columns: the tokens selected. left_out: each sentence left out; of documents that
    do not count perhaps none. sentences: of all documents, as choices count them.

    points: how many methods (agree, of) have the same first choice; of equally many, that which costs more. stands: whether
    tokens of the answer change without that sentence (changed: their share), and less than half as many without others, the
    nearest in length, at most OTHERS. beats: whether its loss is above 0, and larger than that of each other sentence of its
    document. holds: None where there is nothing to compare; stands, beats: None where it was not left out.
    """
    if not choices:
        return {"points": None, "stands": None, "beats": None}
    tokens = slice(columns.start, columns.end)
    if left_out is None or left_out.changed is None:
        rows = np.full(len(sentences), -1)
    else:
        changed, nats = left_out.changed[:, tokens].mean(1), left_out.values[:, tokens].sum(1)
        rows = indices_in(sentences, left_out.units)
    points = _points(choices, [nats[row] if row >= 0 else -np.inf for row in rows], sentences)
    unit = int(rows[points["unit"]])
    if unit < 0 or left_out is None:
        return {"points": points, "stands": None, "beats": None}
    sizes = np.array([len(span.indices) for span in left_out.units])
    others = [index for index in np.argsort(abs(sizes - sizes[unit]), kind="stable").tolist() if index != unit][:OTHERS]
    inside = [index for index, span in enumerate(left_out.units) if span.part == left_out.units[unit].part]
    beside = nats[[index for index in inside if index != unit]]
    return {
        "points": points,
        "stands": {
            "holds": bool(changed[unit] > 2 * changed[others].mean()) if others else None,
            "changed": float(changed[unit]),
            "nats": float(nats[unit]),
            "others": len(others),
            "others_changed": float(changed[others].mean()) if others else None,
            "others_nats": float(nats[others].mean()) if others else None,
        },
        "beats": {
            "holds": bool(nats[unit] > max(0, beside.max())) if len(beside) else None,
            "nats": float(nats[unit]),
            "next": float(beside.max()) if len(beside) else None,
        },
    }


def _points(choices: Sequence[int], losses: Sequence[float], sentences: Sequence[Unit]) -> dict[str, int]:
    """Return which sentence most choose; of equally many, that whose loss is larger."""
    unit, agree = max(Counter(choices).items(), key=lambda pair: (pair[1], losses[pair[0]]))
    part = sentences[unit].part
    before = sum(one.part == part for one in sentences[:unit])
    return {"agree": agree, "of": len(choices), "document": int(part.rpartition(" ")[2]), "sentence": before + 1, "unit": unit}


@functools.cache
def neutral_sentences() -> tuple[str, ...]:
    """Return sentences about nothing that is asked, for random levels."""
    return tuple(Path(__file__).with_name("neutral.txt").read_text(encoding="utf-8").splitlines())
