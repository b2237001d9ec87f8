"""What is known of a whole answer, word by word: what it was written from, by every explainer (`answer_steps` finds it out).

What an explainer says of a selection of words is the sum of its columns (`word_origins` has the rules).
*What it had already said*: S(w) = log p(w | x, answer before w) - log p(w | x), the nats that a word loses where it follows
the prompt directly; its share is S / (S + nats lost without any document), of what is above 0. An explainer that scores the
answer's earlier tokens too has a share of its own: the size of these scores among all of its sizes. Contrastive GIM says what
speaks for a word and against its rival (`Written.rivals`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from heval_core.explainers.shared.left_out import units
from heval_core.explaining import word_origins as rules
from heval_core.explaining.greedy_answer import GreedyAnswer, Rival
from heval_core.lm.clean_pass import CleanPass
from heval_core.plugins import catalogue
from heval_core.prompting.units import Matrix, Unit, indices_in
from heval_core.records import HEvalError, Span, Target
from heval_core.records.whole_answers import MOST_TEXTS, AnswerWord, Bounds, Citation

# The explainers whose matrices the rules read: each document, and each sentence of the documents, left out.
DOCUMENT, SENTENCE = "document", "document(unit=sentence)"

WRITTEN = 60  # tokens of an answer, unless another number is asked for
COMPARES = "cgim"  # a word with its rival
NAMED = 4  # sentences that an explainer names for one of the answer


@dataclass(frozen=True)
class Wanted:
    """generate: at most so many tokens. answer: given word for word; nothing is written then.

    draws: how many texts take a document's place for random levels, at most: each comes once. texts: which, such as documents
    of other questions; of too few none is used, but, as by default, sentences about nothing that is asked. thrifty: draw few
    texts, and more only while a citation depends on it; leave out sentences only of documents that count (`counting`), and of
    many only those that quick explainers name (`named`), with a few to compare them with. earlier: leave out the answer's own
    words before each as well.
    """

    generate: int = WRITTEN
    answer: str | None = None
    draws: int = MOST_TEXTS
    texts: tuple[str, ...] = ()
    bounds: Bounds = Bounds()
    thrifty: bool = False
    earlier: bool = True


@dataclass(frozen=True, eq=False)
class Generated:
    """All that is known so far of an answer of m tokens; (m,) arrays are in nats and float64, None until they are known.

    clean: the pass over the prompt with the answer. logprobs: of its tokens. together, before: what they lose without any
    document, and without the answer's words before. drawn: (draws, m), what other texts give in place of documents.
    matrices: of explainers, by key. costs: the seconds that each would take alone, and the passes that were run for it beyond
    what others had run. refused: why others have none. parts: by explainer of sentences, what it says of other tokens that it
    was asked about since. rivals: by a word's first token. contrasts: by that token, what speaks for it and not
    for its rival, and the seconds that this took.
    """

    written: GreedyAnswer
    wanted: Wanted
    clean: CleanPass = field(repr=False)
    logprobs: np.ndarray | None = None
    together: np.ndarray | None = None
    before: np.ndarray | None = None
    drawn: np.ndarray | None = None
    matrices: dict[str, Matrix] = field(default_factory=dict)
    costs: dict[str, tuple[float, float]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[Span, np.ndarray]] = field(default_factory=dict)
    rivals: dict[int, Rival] = field(default_factory=dict)
    contrasts: dict[int, tuple[np.ndarray, float]] = field(default_factory=dict)

    @property
    def documents(self) -> tuple[Span, ...]:
        return self.written.prompt.documents

    @functools.cached_property
    def sentences(self) -> tuple[Unit, ...]:
        """The sentences of the documents."""
        return units(self.clean.prompts[0], "sentence", self.written.target) if self.documents else ()

    def counting(self) -> list[int]:
        """Return the numbers, from 0, of the documents on which a word rests, or without which a sentence of the answer loses
        more than the random level's lower end: a sentence of any other document is no source."""
        passes = np.zeros(len(self.documents), dtype=bool)
        for word in self.written.words:
            source = self.of(word).source()
            passes |= [source is not None and source.source == f"document {number + 1}" for number in range(len(passes))]
        for sentence in map(self.of, self.written.sentences):
            level, spread = sentence.level()
            passes |= sentence.by_document() > max(self.wanted.bounds.document, level - spread)
        return np.flatnonzero(passes).tolist()

    def named(self, explainers: Iterable[str], of: int | None = None) -> set[int]:
        """Return the numbers of those of the documents' sentences that an explainer puts among the NAMED first for a sentence
        of the answer. of: of one document alone, from 0: the first."""
        sentences, inside = set[int](), indices_in(self.sentences, self.documents)
        for key in explainers:
            scores = self.matrices[key].within(self.sentences, "sentence").values
            for span in self.written.sentences:
                ordered = np.argsort(-scores[:, span.start : span.end].sum(1), kind="stable")
                among = ordered[:NAMED] if of is None else ordered[inside[ordered] == of][:1]
                sentences.update(among.tolist())
        return sentences

    @property
    def undecided(self) -> bool:
        """Whether other texts, which would give another random level, could change what a sentence cites."""
        for sentence in map(self.of, self.written.sentences):
            (level, spread), nats = sentence.level(), sentence.by_document()
            low, high = (nats > max(self.wanted.bounds.document, end) for end in (level - spread, level + spread))
            if (low != high).any():
                return True
        return False

    def of(self, columns: Span) -> WordSelection:
        """Return what is known of some of the answer's tokens."""
        return WordSelection(self, Span(columns.start, columns.end))

    def against(self, index: int, token: int, key: str = COMPARES) -> np.ndarray:
        """Compute (U,) what an explainer says of one token of the answer, against another one in its place."""
        target = self.written.target.part(range(index, index + 1))
        return self.scored(key, replace(target, foils=(token,), foil_kind="another text"))

    def scored(self, key: str, target: Target) -> np.ndarray:
        """Compute (U,) what an explainer says of a target now: a pass of its own."""
        (attribution,) = catalogue.method(key).explain(self.clean, [target])
        return Matrix.of_tokens(self.clean.prompts[0], attribution.scores[:, None]).values[:, 0]

    def with_contrast(self, index: int) -> Generated:
        """Add what speaks for the word that begins at a token. Raises HEvalError for one without a rival."""
        if index not in self.rivals:
            raise HEvalError(f"Token {index} begins no word that another word of the documents might have stood for.")
        clock = self.clean.clock()
        values = self.against(index, self.rivals[index].token)
        return replace(self, contrasts=self.contrasts | {index: (values, clock.stop())})

    def with_part(self, key: str, columns: Span) -> Generated:
        """Add what an explainer says of some tokens. Raises HEvalError for tokens that the answer does not have."""
        if not 0 <= columns.start < columns.end <= len(self.written.ids):
            raise HEvalError(f"The answer has no tokens {columns.start} to {columns.end}; it has {len(self.written.ids)}.")
        selection = self.of(columns)
        part = {} if selection.known(key) is not None else {selection.columns: selection.scores(key)}
        return replace(self, parts={**self.parts, key: self.parts.get(key, {}) | part})

    def by_sentence(self) -> Generated:
        """Sum what explainers say of smaller units over the documents' sentences, as a store keeps it."""
        matrices = dict(self.matrices)
        for key, matrix in self.matrices.items():
            if matrix.level in ("token", "word") and self.sentences:
                matrices[key] = matrix.within(self.sentences, "sentence")
        return replace(self, matrices=matrices)


@dataclass(frozen=True, eq=False)
class WordSelection:
    """Some words of an answer, and what is known of them so far. columns: their tokens."""

    generated: Generated
    columns: Span

    @property
    def text(self) -> str:
        return self.columns.text(self.generated.written.tokens)

    def total(self, values: np.ndarray) -> Any:
        """Sum (…, m) values of the answer's tokens over these ▶ (…)."""
        return values[..., self.columns.start : self.columns.end].sum(-1)

    def known(self, explainer: str) -> np.ndarray | None:
        """Return (U,) an explainer's scores for these words: sums of its columns; None for one of sentences, unless these are
        whole sentences, or it was asked about these words."""
        matrix, part = self.generated.matrices[explainer], self.generated.parts.get(explainer, {}).get(self.columns)
        if part is not None or matrix.columns == "token":
            return self.total(matrix.values) if part is None else part
        sentences, tokens = self.generated.written.sentences, set(self.columns.indices)
        whole = [index for index, sentence in enumerate(sentences) if set(sentence.indices) <= tokens]
        return matrix.values[:, whole].sum(1) if sum(len(sentences[index].indices) for index in whole) == len(tokens) else None

    def scores(self, explainer: str) -> np.ndarray:
        """Return (U,) an explainer's scores for these words; one of sentences runs a pass now for anything else."""
        if (known := self.known(explainer)) is not None:
            return known
        target = with_foils(self.generated.clean, self.generated.written.target)
        return self.generated.scored(explainer, target.part(self.columns.indices))

    def against(self, other: str, explainer: str = COMPARES) -> np.ndarray:
        """Compute (U,) an explainer's scores for the first of these words' tokens, and against the first one of another text.

        Raises HEvalError where both begin alike, and for an explainer that does not compare.
        """
        first, written = self.columns.start, self.generated.written
        space = " " * written.tokens[first][:1].isspace()
        ids = self.generated.clean.lm.encode(space + other.strip())
        if not ids or ids[0] == written.ids[first]:
            raise HEvalError(
                f"{self.text.strip()!r} and {other.strip()!r} begin with the same token: there is nothing to compare."
            )
        scores = self.generated.against(first, ids[0], explainer)
        alone = self.generated.written.target.part(range(first, first + 1))
        if explainer != COMPARES and np.array_equal(scores, self.generated.scored(explainer, alone)):
            raise HEvalError(f"{explainer} gives a word the same scores whatever stood in its place: it does not compare.")
        return scores

    def choices(self) -> dict[str, int]:
        """Return explainer ▶ its first choice for these words, of those that tell sentences, without the one that judges."""
        sentences, chosen = self.generated.sentences, dict[str, int]()
        for key, matrix in self.generated.matrices.items():
            scores = None if key == SENTENCE or matrix.level == "document" else self.known(key)
            choice = None if scores is None else rules.first_choice(scores, matrix.units, sentences)
            if choice is not None and all(earlier.partition("(")[0] != key.partition("(")[0] for earlier in chosen):
                chosen[key] = choice  # variants of one explainer count once
        return chosen

    def verdict(self) -> dict[str, Any]:
        """Judge their first choice (`word_origins.verdict`); empty before sentences are known, and without documents."""
        left_out = self.generated.matrices.get(SENTENCE)
        if not self.generated.documents or (left_out is None and self.generated.drawn is None):
            return {}
        return rules.verdict(list(self.choices().values()), self.columns, left_out, self.generated.sentences)

    def said_before(self) -> float | None:
        """Return the share of what the answer had already said."""
        before, together = self.generated.before, self.generated.together
        if before is None or together is None:
            return None
        prior, documents = (max(0.0, float(self.total(part))) for part in (before, together))
        return round(prior / (prior + documents), 4) if prior + documents else 0.0

    def source(self) -> rules.WordSource | None:
        """Return what these words rest on; None before documents are known."""
        if self.generated.together is None or self.generated.logprobs is None:
            return None
        together, logprob = (float(self.total(part)) for part in (self.generated.together, self.generated.logprobs))
        return rules.source_of(self.by_document(), *self.level(), together, logprob - together, self.generated.wanted.bounds)

    def level(self) -> tuple[float, float]:
        """Return the random level and its spread; 0 before it is known, and where chance gives less."""
        sampled = self.generated.drawn
        return (0.0, 0.0) if sampled is None else rules.random_level(self.total(sampled), len(self.generated.documents))

    def by_document(self) -> np.ndarray:
        """Return (D,) the nats that these words lose without each document."""
        nats, matrix = np.zeros(len(self.generated.documents)), self.generated.matrices.get(DOCUMENT)
        if matrix is not None and len(nats):  # without documents its units are sentences of the question
            nats[indices_in(matrix.units, self.generated.documents)] = self.total(matrix.values)
        return nats

    def citations(self) -> list[Citation]:
        """Return the documents that these words cite, strongest first; none before random levels are known."""
        if self.generated.drawn is None:
            return []
        words = [
            self.generated.of(word) for word in self.generated.written.words if set(word.indices) & {*self.columns.indices}
        ]
        sources = {str(source.source) for word in words if any(map(str.isalnum, word.text)) and (source := word.source())}
        return rules.citations_of(self.by_document(), *self.level(), self.generated.wanted.bounds, sources)

    def word(self) -> AnswerWord:
        """Return what is known of these words as a record."""
        generated, source = self.generated, self.source()
        rival = generated.rivals.get(self.columns.start)
        return AnswerWord(
            start=self.columns.start,
            end=self.columns.end,
            text=self.text,
            source=source and source.source,
            nats=source and short(source.nats),
            by_document=source and short(self.by_document()),
            together=None if generated.together is None else short(self.total(generated.together)),
            said_before=self.said_before(),
            rival=rival and rival.text,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `precompute explain --select` prints."""
        return asdict(self.word()) | {"citations": [*map(asdict, self.citations())], "verdict": self.verdict()}


def short(values: Any) -> Any:
    """Return a number with four digits, or all numbers of an array, as tuples."""
    return tuple(map(short, values)) if np.ndim(values) else float(f"{values:.4g}")


def with_foils(clean: CleanPass, target: Target) -> Target:
    """Return the target against the likeliest other token at each of its positions."""
    best = clean.logits_at(target.positions)[0].topk(2).indices.tolist()
    foils = tuple(next(foil for foil in pair if foil != token_id) for pair, token_id in zip(best, target.ids, strict=True))
    return Target(target.positions, target.ids, foils, "runner-up token")
