"""Explains a whole answer, word by word: what it was written from, by every explainer, step by step.

`explain_answer` gives the answer as it is written, then what leaving out documents says of all its words, then sentences and
random levels, then one explainer after the other: each time all that is known so far, so that it can be shown at once, and
left at any time. What an explainer says of a selection of words is the sum of its columns (`sources` has the rules).
*What it had already said*: S(w) = log p(w | x, answer before w) - log p(w | x), the nats that a word loses where it follows
the prompt directly; its share is S / (S + nats lost without any document), of what is above 0. An explainer that scores the
answer's earlier tokens too has a share of its own: the size of these scores among all of its sizes.
*Rival*: of the model's first five choices for a word, the likeliest other one that begins a word of a document. What speaks
for the word and against its rival, Contrastive GIM says when it is asked.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heval_core import catalogue, sources
from heval_core.explainers.shared.left_out import said, said_in, units, without_earlier
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.needs import require
from heval_core.pipeline import Request, able_of
from heval_core.prompts import assemble
from heval_core.records import HEvalError, Span, Target, TokenisedPrompt
from heval_core.statistics.scores import check
from heval_core.units import Matrix, places_in
from heval_core.words import FUNCTION_WORDS
from heval_core.writing import Written, given, write

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel
    from heval_core.protocols import Method

# The explainers whose matrices the rules read: each document, and each sentence of the documents, left out.
DOCUMENT, SENTENCE = "document", "document(unit=sentence)"
COLUMNS = ("token", "sentence")
WRITTEN = 60  # tokens of an answer, unless another number is asked for
# Of the model's first choices for a word so many may be its rival, and this explainer compares the two.
CHOICES, COMPARES = 5, "cgim"


@dataclass(frozen=True)
class Wanted:
    """generate: at most so many tokens. answer: given word for word; nothing is written then.

    draws: how many texts take a document's place for random levels. texts: which, such as documents of other questions; by
    default sentences about nothing that is asked.
    """

    generate: int = WRITTEN
    answer: str | None = None
    draws: int = 20
    texts: tuple[str, ...] = ()
    bounds: sources.Bounds = sources.Bounds()


class Rival(NamedTuple):
    """A word of the documents that the model might have said. token: its first one."""

    text: str
    token: int


@dataclass(frozen=True, eq=False)
class Generated:
    """All that is known so far of an answer of m tokens; (m,) arrays are in nats and float64, None until they are known.

    clean: the pass over the prompt with the answer. logprobs: of its tokens. together, before: what they lose without any
    document, and without the answer's words before. drawn: (draws, m), what other texts give in place of documents.
    matrices: of explainers, by key. costs: the seconds that each would take alone, and the passes that were run for it beyond
    what others had run. refused: why others have none. parts: by explainer of sentences, what it says of other tokens [start,
    end) that it was asked about since. rivals: by a word's first token. contrasts: by that token, what speaks for it and not
    for its rival, and the seconds that this took.
    """

    written: Written
    wanted: Wanted
    clean: CleanPass = field(repr=False)
    logprobs: np.ndarray | None = None
    together: np.ndarray | None = None
    before: np.ndarray | None = None
    drawn: np.ndarray | None = None
    matrices: dict[str, Matrix] = field(default_factory=dict)
    costs: dict[str, tuple[float, float]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[tuple[int, int], np.ndarray]] = field(default_factory=dict)
    rivals: dict[int, Rival] = field(default_factory=dict)
    contrasts: dict[int, tuple[np.ndarray, float]] = field(default_factory=dict)

    @property
    def documents(self) -> tuple[Span, ...]:
        return self.written.prompt.documents

    def scores(self, key: str, columns: range) -> np.ndarray | None:
        """(U,) an explainer's scores for some tokens; None for an explainer of sentences, unless whole ones are asked for."""
        matrix, sentences = self.matrices[key], [unit.indices for unit in self.written.sentences]
        if (part := self.parts.get(key, {}).get((columns.start, columns.stop))) is not None:
            return part
        if matrix.columns == "token":
            return matrix.values[:, columns.start : columns.stop].sum(1)
        whole = [index for index, tokens in enumerate(sentences) if set(tokens) <= set(columns)]
        return matrix.values[:, whole].sum(1) if sum(len(sentences[index]) for index in whole) == len(columns) else None

    def asked_now(self, key: str, columns: range) -> np.ndarray:
        """(U,) the scores of an explainer that explains sentences, for any other tokens: a pass of their own."""
        return self._scored(key, with_foils(self.clean, self.written.target).part(columns))

    def against(self, place: int, token: int, key: str = COMPARES) -> np.ndarray:
        """(U,) what an explainer says of one token of the answer, against another one in its place."""
        target = self.written.target.part(range(place, place + 1))
        return self._scored(key, replace(target, foils=(token,), foil_kind="another text"))

    def _scored(self, key: str, target: Target) -> np.ndarray:
        (attribution,) = catalogue.method(key).explain(self.clean, [target])
        return Matrix.of_tokens(self.clean.prompts[0], attribution.scores[:, None]).values[:, 0]

    def with_contrast(self, place: int) -> Generated:
        """The same, with what speaks for the word that begins at a token. Raises HEvalError for one without a rival."""
        if place not in self.rivals:
            raise HEvalError(f"Token {place} begins no word that another word of the documents might have stood for.")
        clock = self.clean.clock()
        values = self.against(place, self.rivals[place].token)
        return replace(self, contrasts=self.contrasts | {place: (values, clock.stop())})

    def with_part(self, key: str, columns: range) -> Generated:
        """The same, with what an explainer says of some tokens. Raises HEvalError for tokens that the answer does not have."""
        if not 0 <= columns.start < columns.stop <= len(self.written.ids):
            raise HEvalError(f"The answer has no tokens {columns.start} to {columns.stop}; it has {len(self.written.ids)}.")
        part = {} if self.scores(key, columns) is not None else {(columns.start, columns.stop): self.asked_now(key, columns)}
        return replace(self, parts={**self.parts, key: self.parts.get(key, {}) | part})

    def choices(self, columns: range) -> dict[str, int]:
        """Explainer ▶ its first choice for some tokens, of those that tell sentences and are not asked to judge them."""
        sentences, chosen = self.matrices[SENTENCE].units, dict[str, int]()
        for key, matrix in self.matrices.items():
            scores = None if key == SENTENCE or matrix.level == "document" else self.scores(key, columns)
            choice = None if scores is None else sources.first_choice(scores, matrix.units, sentences)
            if choice is not None and all(earlier.partition("(")[0] != key.partition("(")[0] for earlier in chosen):
                chosen[key] = choice  # variants of one explainer count once
        return chosen

    def verdict(self, columns: range) -> dict[str, Any]:
        """Is it true? See `sources.verdict`; empty before sentences are known."""
        if SENTENCE not in self.matrices:
            return {}
        return sources.verdict(list(self.choices(columns).values()), columns, self.matrices[SENTENCE])

    def said_before(self, columns: range) -> float | None:
        """The share of what the answer had already said."""
        if self.before is None or self.together is None:
            return None
        prior, documents = (max(0.0, float(part[columns.start : columns.stop].sum())) for part in (self.before, self.together))
        return round(prior / (prior + documents), 4) if prior + documents else 0.0

    def source(self, columns: range) -> sources.Source | None:
        """Where a word came from; None before documents are known."""
        if self.together is None or self.logprobs is None:
            return None
        tokens = slice(columns.start, columns.stop)
        together = float(self.together[tokens].sum())
        alone = float(self.logprobs[tokens].sum()) - together
        return sources.source_of(self.by_document(columns), self.level(columns), together, alone, self.wanted.bounds)

    def level(self, columns: range) -> float:
        """The random level of some tokens; 0 before it is known, and where chance gives less."""
        if self.drawn is None:
            return 0.0
        return sources.random_level(self.drawn[:, columns.start : columns.stop].sum(1), len(self.documents))

    def by_document(self, columns: range) -> np.ndarray:
        """(D,) the nats that some tokens lose without each document."""
        nats = np.zeros(len(self.documents))
        if DOCUMENT in self.matrices:
            matrix = self.matrices[DOCUMENT]
            nats[places_in(matrix.units, self.documents)] = matrix.values[:, columns.start : columns.stop].sum(1)
        return nats

    def citations(self, columns: range) -> list[sources.Citation] | None:
        """What some tokens cite; None before random levels are known."""
        if self.drawn is None:
            return [] if self.together is not None and not self.documents else None
        return sources.citations_of(self.by_document(columns), self.level(columns), self.wanted.bounds)

    def by_sentence(self) -> Generated:
        """With the sums over the documents' sentences of what explainers say of smaller units, as a store keeps it."""
        matrices = dict(self.matrices)
        for key, matrix in self.matrices.items():
            if matrix.level in ("token", "word") and SENTENCE in self.matrices:
                matrices[key] = matrix.within(self.matrices[SENTENCE].units, "sentence")
        return replace(self, matrices=matrices)


def with_foils(clean: CleanPass, target: Target) -> Target:
    """The target against the likeliest other token at each of its positions."""
    best = clean.logits_at(target.positions)[0].topk(2).indices.tolist()
    foils = tuple(next(foil for foil in pair if foil != token_id) for pair, token_id in zip(best, target.ids, strict=True))
    return Target(target.positions, target.ids, foils, "runner-up token")


def rivals_of(values: Any, written: Written) -> dict[int, Rival]:
    """values: (m, V) log-probabilities."""
    prompt, begins = written.prompt, dict[int, Rival]()
    for unit in units(prompt, "word") if prompt.documents else ():
        text = "".join(prompt.tokens[unit.start : unit.end]).strip()
        if text[:1].isalnum() and text.lower() not in FUNCTION_WORDS:
            begins.setdefault(prompt.ids[unit.start], Rival(text, prompt.ids[unit.start]))
    rivals = dict[int, Rival]()
    for word in written.words:
        word_text, word_id = "".join(written.tokens[word.start : word.end]).strip().lower(), written.ids[word.start]
        likely = [begins[choice] for choice in values[word.start].topk(CHOICES).indices.tolist() if choice in begins]
        rival = next((other for other in likely if other.token != word_id and other.text.lower() != word_text), None)
        if rival and word_text[:1].isalnum() and word_text not in FUNCTION_WORDS:
            rivals[word.start] = rival
    return rivals


def columns_of(explainer: Method) -> str:
    """`token` or `sentence`: what the columns of an explainer's matrix belong to. Raises HEvalError for one that has none."""
    if hasattr(explainer, "matrix"):
        return "token"
    columns = str(getattr(explainer, "answers", "") or "it scores the first token of an answer only.")
    if columns not in COLUMNS:
        raise HEvalError(f"{explainer.title} does not explain a whole answer: {columns}")
    return columns


def matrix_of(explainer: Method, clean: CleanPass, target: Target, sentences: Sequence[range]) -> Matrix:
    """An explainer's scores for all of an answer. Raises HEvalError where it has none, or scores that are not finite."""
    columns = columns_of(explainer)
    clean.read_together(target.positions)
    compute: Callable[..., Matrix] | None = getattr(explainer, "matrix", None)
    if compute is not None:
        matrix = compute(clean, target, sentences)
    else:
        parts = [range(index, index + 1) for index in range(len(target.ids))] if columns == "token" else sentences
        scores = [explainer.explain(clean, [target.part(places)])[0].scores for places in parts]
        matrix = Matrix.of_tokens(clean.prompts[0], np.stack(scores, 1), target.positions[0] + 1)
        matrix = replace(matrix, columns=columns)
    check(matrix.values, f"The answer, explainer {explainer.key}")
    return matrix


def explain_answer(
    lm: LanguageModel, prompt: TokenisedPrompt, question: str, explainers: Iterable[Method], wanted: Wanted
) -> Iterator[tuple[str, Generated]]:
    """(step, all that is known), in this order: `token` for each token as it is written, `document`, `sentence`, `level`, and
    each explainer's key.

    Whoever asks for no more ends it: nothing is computed ahead. An explainer that cannot explain it is named in `refused`.
    Raises HEvalError for an empty or too long prompt, and where there is no answer (`writing`).
    """
    able, refused = able_of(lm, explainers)
    first = CleanPass(lm, [prompt])
    growing = write(first, wanted.generate, question) if wanted.answer is None else [given(first, wanted.answer)]
    for written in growing:
        generated = Generated(written, wanted, first, refused=refused)
        yield "token", generated
    generated, target = finished(generated)
    for step in _left_out(generated, target):
        generated = step[1]
        yield step
    if DOCUMENT in generated.matrices:
        generated = replace(
            generated, drawn=lm.budget.within(generated.clean.length, partial(_drawn, generated, target, wanted))
        )
        yield "level", generated
    yield from explained_by(generated, [explainer for explainer in able if explainer.key not in generated.matrices])


def finished(generated: Generated) -> tuple[Generated, Target]:
    """With the pass over the prompt and a whole answer, and what that says of its tokens; and these, with their foils."""
    written, first = generated.written, generated.clean
    clean = CleanPass(first.lm, [written.whole], before=first) if len(written.ids) > 1 else first
    target = with_foils(clean, written.target)
    values = clean.logits_at(target.positions)[0].double().log_softmax(-1)
    logprobs = np.array([float(row[token_id]) for row, token_id in zip(values, target.ids, strict=True)])
    before = logprobs - without_earlier(clean, target, written.words)
    before[: written.words[0].end] = 0  # nothing precedes the first word, and rounding would be all of its share
    return replace(generated, logprobs=logprobs, clean=clean, before=before, rivals=rivals_of(values, written)), target


def tokenised(lm: LanguageModel, request: Request) -> TokenisedPrompt:
    """The prompt of a request, in the model's layout. Raises HEvalError for one that is empty or too long."""
    return lm.tokenise(assemble(request.documents, (None,) * len(request.documents), request.question, lm.template))


def explained_by(found: Generated, explainers: Iterable[Method]) -> Iterator[tuple[str, Generated]]:
    """(key, all that is known) after each of some explainers more."""
    target = with_foils(found.clean, found.written.target)
    for explainer in explainers:
        found = _explained(found, explainer, target)
        yield explainer.key, found


def _explained(generated: Generated, explainer: Method, target: Target) -> Generated:
    """With one explainer's matrix more, or with the reason why there is none."""
    from heval_core.lm.passes import counting

    clean, clock = generated.clean, generated.clean.clock()
    sentences = [unit.indices for unit in generated.written.sentences]
    try:
        require(clean.lm, explainer.needs)
        with counting(clean.lm) as counted:
            work = partial(matrix_of, explainer, clean, target, sentences)
            matrix = clean.lm.budget.within(clean.length, work)
    except HEvalError as error:
        return replace(generated, refused=generated.refused | {explainer.key: str(error)})
    cost = {explainer.key: (clock.stop(), counted.passes(1, clean.length))}
    return replace(generated, matrices=generated.matrices | {explainer.key: matrix}, costs=generated.costs | cost)


def _left_out(generated: Generated, target: Target) -> Iterator[tuple[str, Generated]]:
    """Each document left out, and all of them together; then each sentence."""
    if not generated.documents:
        yield "document", replace(generated, together=np.zeros(len(target.ids)))
        return
    generated = _explained(generated, catalogue.method(DOCUMENT), target)
    whole = units(generated.clean.prompts[0], "document", target)
    (alone,) = said(generated.clean, [target], [[whole]])
    generated = replace(generated, together=generated.logprobs - alone.logprobs[0, 0])
    yield "document", generated
    yield "sentence", _explained(generated, catalogue.method(SENTENCE), target)


def _drawn(generated: Generated, target: Target, wanted: Wanted) -> np.ndarray:
    """(draws, m) the nats that texts about something else give in a document's place: so much better they are than no text.

    The documents take turns; a text is repeated and cut to the length of the one that it replaces.
    """
    clean, documents = generated.clean, generated.matrices[DOCUMENT]
    (prompt,) = clean.prompts
    texts, turns = wanted.texts or sources.neutral_sentences(), np.arange(wanted.draws) % max(1, len(documents.units))
    rng = np.random.default_rng(zlib.crc32(np.array(prompt.ids).tobytes()))
    positions = tuple(position - len(prompt.ids) for position in target.positions)
    variants = []
    for turn in turns if documents.units else []:
        span = documents.units[turn]
        text = " ".join(texts[index] for index in rng.permutation(len(texts)))
        space = " " * prompt.tokens[span.start][:1].isspace()
        ids = clean.lm.tokenizer(space + text, add_special_tokens=False, verbose=False).input_ids
        drawn = tuple(islice(cycle(ids), span.end - span.start))
        variants.append((prompt.ids[: span.start] + drawn + prompt.ids[span.end :], positions))
    (said_instead,) = said_in(clean, [target], [variants])
    return said_instead.logprobs[:, 0] - (generated.logprobs - documents.values[turns[: len(variants)]])
