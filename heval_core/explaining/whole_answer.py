"""Explains a whole answer, word by word: what it was written from, by every explainer, step by step.

`answer_steps` gives the answer as it is written, then what leaving out documents says of all its words, then sentences and
random levels, then one explainer after the other: each time all that is known so far, so that it can be shown at once, and
left at any time. What an explainer says of a selection of words is the sum of its columns (`word_origins` has the rules).
*What it had already said*: S(w) = log p(w | x, answer before w) - log p(w | x), the nats that a word loses where it follows
the prompt directly; its share is S / (S + nats lost without any document), of what is above 0. An explainer that scores the
answer's earlier tokens too has a share of its own: the size of these scores among all of its sizes. Contrastive GIM says what
speaks for a word and against its rival (`Written.rivals`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import cycle, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from heval_core.explainers.shared.left_out import logprobs_in, logprobs_without, units, without_earlier
from heval_core.explaining import word_origins as rules
from heval_core.explaining.greedy_answer import GreedyAnswer, Rival, given, write
from heval_core.explaining.pipeline import Request, able_of
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.needs import require
from heval_core.lm.targets import in_float64
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import assemble
from heval_core.prompting.units import Matrix, Unit, indices_in
from heval_core.records import HEvalError, Span, Target, TokenisedPrompt
from heval_core.records.whole_answers import AnswerWord, Bounds, Citation
from heval_core.statistics.scores import check

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel
    from heval_core.plugins.protocols import Method

# The explainers whose matrices the rules read: each document, and each sentence of the documents, left out.
DOCUMENT, SENTENCE = "document", "document(unit=sentence)"
COLUMNS = ("token", "sentence")
WRITTEN = 60  # tokens of an answer, unless another number is asked for
COMPARES = "cgim"  # a word with its rival
FEWEST = 10  # different texts of which a random level is made


@dataclass(frozen=True)
class Wanted:
    """generate: at most so many tokens. answer: given word for word; nothing is written then.

    draws: how many texts take a document's place for random levels, at most: each comes once. texts: which, such as documents
    of other questions; of fewer than FEWEST none is used, but, as by default, sentences about nothing that is asked.
    """

    generate: int = WRITTEN
    answer: str | None = None
    draws: int = 20
    texts: tuple[str, ...] = ()
    bounds: Bounds = Bounds()


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
            if matrix.level in ("token", "word") and SENTENCE in self.matrices:
                matrices[key] = matrix.within(self.matrices[SENTENCE].units, "sentence")
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
        sentences, chosen = self.generated.matrices[SENTENCE].units, dict[str, int]()
        for key, matrix in self.generated.matrices.items():
            scores = None if key == SENTENCE or matrix.level == "document" else self.known(key)
            choice = None if scores is None else rules.first_choice(scores, matrix.units, sentences)
            if choice is not None and all(earlier.partition("(")[0] != key.partition("(")[0] for earlier in chosen):
                chosen[key] = choice  # variants of one explainer count once
        return chosen

    def verdict(self) -> dict[str, Any]:
        """Judge their first choice (`word_origins.verdict`); empty before sentences are known, and without documents."""
        if SENTENCE not in self.generated.matrices or not self.generated.documents:
            return {}
        return rules.verdict(list(self.choices().values()), self.columns, self.generated.matrices[SENTENCE])

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


def columns_of(explainer: Method) -> str:
    """Return what the columns of an explainer's matrix belong to, one of COLUMNS. Raises HEvalError for one that has none."""
    if hasattr(explainer, "matrix"):
        return "token"
    columns = str(getattr(explainer, "answers", "") or "it scores the first token of an answer only.")
    if columns not in COLUMNS:
        raise HEvalError(f"{explainer.title} does not explain a whole answer: {columns}")
    return columns


def matrix_of(explainer: Method, clean: CleanPass, target: Target, sentences: Sequence[range]) -> Matrix:
    """Compute an explainer's scores for a whole answer. Raises HEvalError where it has none, or they are not finite."""
    columns = columns_of(explainer)
    clean.read_together(target.positions)
    compute: Callable[..., Matrix] | None = getattr(explainer, "matrix", None)
    if compute is not None:
        matrix = compute(clean, target, sentences)
    else:
        parts = [range(index, index + 1) for index in range(len(target.ids))] if columns == "token" else sentences
        scores = [explainer.explain(clean, [target.part(indices)])[0].scores for indices in parts]
        matrix = Matrix.of_tokens(clean.prompts[0], np.stack(scores, 1), target.positions[0] + 1)
        matrix = replace(matrix, columns=columns)
    check(matrix.values, f"The answer, explainer {explainer.key}")
    return matrix


def answer_steps(
    lm: LanguageModel, prompt: TokenisedPrompt, question: str, explainers: Iterable[Method], wanted: Wanted
) -> Iterator[tuple[str, Generated]]:
    """Yield (step, all that is known), in this order: `token` for each token as it is written, `document`, `before`,
    `sentence`, `level`, and each explainer's key.

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
            generated, drawn=lm.budget.within(generated.clean.length, partial(_nats_of_other_texts, generated, target, wanted))
        )
        yield "level", generated
    yield from explained_by(generated, [explainer for explainer in able if explainer.key not in generated.matrices])


def finished(generated: Generated) -> tuple[Generated, Target]:
    """Add the pass over prompt and answer, and the answer's log-probabilities; return its tokens too, with their foils."""
    written, clean = generated.written, generated.written.after(generated.clean)
    target = with_foils(clean, written.target)
    values = in_float64(clean.logits_at(target.positions)[0]).log_softmax(-1)
    logprobs = np.array([float(row[token_id]) for row, token_id in zip(values, target.ids, strict=True)])
    return replace(generated, logprobs=logprobs, clean=clean, rivals=written.rivals(values)), target


def tokenised(lm: LanguageModel, request: Request) -> TokenisedPrompt:
    """Tokenise the prompt of a request, in the model's layout. Raises HEvalError for one that is empty or too long."""
    return lm.tokenise(assemble(request.documents, (None,) * len(request.documents), request.question, lm.template))


def explained_by(generated: Generated, explainers: Iterable[Method]) -> Iterator[tuple[str, Generated]]:
    """Yield (key, all that is known) after each of some explainers more."""
    target = with_foils(generated.clean, generated.written.target)
    for explainer in explainers:
        generated = _explained(generated, explainer, target)
        yield explainer.key, generated


def _explained(generated: Generated, explainer: Method, target: Target) -> Generated:
    """Add one explainer's matrix, or the reason why there is none."""
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
    """Leave out each document, and all of them together; the answer's own words before; then each sentence."""
    together = np.zeros(len(target.ids))
    if generated.documents:
        (alone,) = logprobs_without(generated.clean, [target], [[units(generated.clean.prompts[0], "document", target)]])
        together = generated.logprobs - alone.logprobs[0, 0]
        generated = _explained(generated, catalogue.method(DOCUMENT), target)
    yield "document", (generated := replace(generated, together=together))
    words = generated.written.words
    # What white space is before a word stands before it there too; a word alone would begin without one.
    ends = [0, *(word.end for word in words[:-1]), len(target.ids)]
    spaced = [Unit(start, end, "") for start, end in pairwise(ends)]
    before = generated.logprobs - without_earlier(generated.clean, target, spaced)
    before[: words[0].end] = 0  # nothing precedes the first word, and rounding would be all of its share
    yield "before", (generated := replace(generated, before=before))
    if generated.documents:
        yield "sentence", _explained(generated, catalogue.method(SENTENCE), target)


def _nats_of_other_texts(generated: Generated, target: Target, wanted: Wanted) -> np.ndarray:
    """Compute (draws, m) the nats that texts about something else give in a document's place, above those of no text.

    The documents take turns, and each text is the first of a draw once. Others follow it, up to the length of the document.
    """
    clean, documents = generated.clean, generated.matrices[DOCUMENT]
    (prompt,) = clean.prompts
    given_texts = tuple(dict.fromkeys(wanted.texts))
    texts = given_texts if len(given_texts) >= FEWEST else rules.neutral_sentences()
    turns = np.arange(min(wanted.draws, len(texts))) % max(1, len(documents.units))
    order = np.random.default_rng(zlib.crc32(np.array(prompt.ids).tobytes())).permutation(len(texts))
    positions = tuple(position - len(prompt.ids) for position in target.positions)
    variants = []
    for number, turn in enumerate(turns if documents.units else []):
        span = documents.units[turn]
        text = " ".join(texts[index] for index in np.roll(order, -number))
        space = " " * prompt.tokens[span.start][:1].isspace()
        filler = tuple(islice(cycle(clean.lm.encode(space + text)), span.end - span.start))
        variants.append((prompt.ids[: span.start] + filler + prompt.ids[span.end :], positions))
    (said_instead,) = logprobs_in(clean, [target], [variants])
    return said_instead.logprobs[:, 0] - (generated.logprobs - documents.values[turns[: len(variants)]])
