"""Explains a whole answer step by step: each time all that is known so far, so that it can be shown at once, and left.

The order is that of what a reader asks and of what it costs: the answer as it is written; each document left out; explainers
that take one pass more for all words; the random level; those that take a few passes; sentences left out, of one document
after the other; what the answer had already said; every other explainer.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from heval_core.explainers.shared.left_out import logprobs_in, logprobs_without, lost, units, without_earlier
from heval_core.explaining import word_origins as rules
from heval_core.explaining.greedy_answer import given, write
from heval_core.explaining.pipeline import Request, able_of
from heval_core.explaining.whole_answer import DOCUMENT, SENTENCE, Generated, Wanted, with_foils
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.needs import require
from heval_core.lm.targets import in_float64
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import assemble
from heval_core.prompting.units import Matrix, Unit, indices_in
from heval_core.records import HEvalError, Target, TokenisedPrompt
from heval_core.records.whole_answers import FEW_TEXTS
from heval_core.statistics.scores import check

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel
    from heval_core.plugins.protocols import Method

COLUMNS = ("token", "sentence")
FEWEST = 10  # different texts of which a random level is made
# Where more sentences than this would be left out, those are that quick explainers name, and so many others to compare with.
FEW_SENTENCES, COMPARED = 12, 5
# An explainer of fewer passes, of all words together, comes before the random level, and before sentences.
ONE_PASS, QUICK = 2, 6
NOW = "now "
_Work = Callable[[Generated, Target], Iterator[Generated]]


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
    """Yield (step, all that is known) when a step is done: `token` for each token as it is written, `document`, the keys of
    ONE_PASS explainers, `level` for each few texts, those of QUICK ones, `sentence` for each document, `before`, and every
    other explainer's key. Before a step that takes time comes `now STEP`.

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
    left_out = (DOCUMENT, SENTENCE) if generated.documents else ()
    others = [explainer for explainer in able if explainer.key not in left_out]
    first_ones, quick = ([one for one in others if _takes_under(most, one, len(prompt.ids))] for most in (ONE_PASS, QUICK))
    naming, plan, planned = [one.key for one in quick], list[tuple[str, _Work]](), set[str]()

    def asked_of(some: Sequence[Method]) -> None:
        """Plan some explainers, in their order, unless they are planned."""
        plan.extend((one.key, partial(_by, one)) for one in some if one.key not in planned)
        planned.update(one.key for one in some)

    plan.append(("document", _without_documents))
    asked_of(first_ones)
    plan += [("level", _random_level)] if generated.documents else []
    asked_of(quick)
    plan += [("sentence", partial(_without_sentences, naming))] if generated.documents else []
    plan += [("before", _without_earlier)] if wanted.earlier else []
    asked_of(others)
    for step, work in plan:
        yield f"{NOW}{step}", generated
        for known in work(generated, target):
            yield step, (generated := known)


def _takes_under(passes: float, explainer: Method, tokens: int) -> bool:
    """Return whether an explainer explains all words together in fewer passes."""
    try:
        return columns_of(explainer) == "token" and explainer.cost(tokens).tokens < passes * tokens
    except HEvalError:
        return True  # it says so at once


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


def _by(explainer: Method, generated: Generated, target: Target) -> Iterator[Generated]:
    yield _explained(generated, explainer, target)


def _explained(generated: Generated, explainer: Method, target: Target) -> Generated:
    """Add one explainer's matrix, or the reason why there is none."""
    sentences = [unit.indices for unit in generated.written.sentences]

    def work() -> Matrix:
        require(generated.clean.lm, explainer.needs)
        return matrix_of(explainer, generated.clean, target, sentences)

    try:
        return _with_matrix(generated, explainer.key, work)
    except HEvalError as error:
        return replace(generated, refused=generated.refused | {explainer.key: str(error)})


def _with_matrix(generated: Generated, key: str, work: Callable[[], Matrix]) -> Generated:
    """Add the matrix that a piece of work gives, with what it takes: beside what that was so far."""
    from heval_core.lm.passes import counting

    clean, clock, began = generated.clean, generated.clean.clock(), time.perf_counter()
    with counting(clean.lm) as counted:
        matrix = clean.lm.budget.within(clean.length, work)
    seconds, passes = generated.costs.get(key, (0.0, 0.0))
    alone = clock.stop()  # with what others had run: that counts once
    seconds += time.perf_counter() - began if key in generated.costs else alone
    cost = {key: (seconds, passes + counted.passes(1, clean.length))}
    return replace(generated, matrices=generated.matrices | {key: matrix}, costs=generated.costs | cost)


def _without_documents(generated: Generated, target: Target) -> Iterator[Generated]:
    """Leave out each document, and all of them together."""
    together = np.zeros(len(target.ids))
    if generated.documents:
        (alone,) = logprobs_without(generated.clean, [target], [[units(generated.clean.prompts[0], "document", target)]])
        together = generated.logprobs - alone.logprobs[0, 0]
        generated = _explained(generated, catalogue.method(DOCUMENT), target)
    yield replace(generated, together=together)


def _without_earlier(generated: Generated, target: Target) -> Iterator[Generated]:
    """Leave out the answer's own words before each."""
    words = generated.written.words
    # What white space is before a word stands before it there too; a word alone would begin without one.
    ends = [0, *(word.end for word in words[:-1]), len(target.ids)]
    spaced = [Unit(start, end, "") for start, end in pairwise(ends)]
    before = generated.logprobs - without_earlier(generated.clean, target, spaced)
    before[: words[0].end] = 0  # nothing precedes the first word, and rounding would be all of its share
    yield replace(generated, before=before)


def _without_sentences(quick: Sequence[str], generated: Generated, target: Target) -> Iterator[Generated]:
    """Leave out each sentence, of one document after the other: of all, or of those that count."""
    if DOCUMENT not in generated.matrices:
        yield generated
        return
    inside = indices_in(generated.sentences, generated.documents)
    able = [key for key in quick if key in generated.matrices]
    wanted = _to_leave_out(generated, inside, able) if generated.wanted.thrifty else [*range(len(inside))]
    numbers = sorted({int(inside[index]) for index in wanted} - {-1})
    if not numbers:
        yield generated
    for number in numbers:
        parts = [generated.sentences[index] for index in wanted if inside[index] == number]
        work = partial(lost, generated.clean, target, parts, "sentence")
        earlier = generated.matrices.get(SENTENCE)
        try:
            generated = _with_matrix(generated, SENTENCE, work)
        except HEvalError as error:
            yield replace(generated, refused=generated.refused | {SENTENCE: str(error)})
            return
        check(generated.matrices[SENTENCE].values, f"The answer, explainer {SENTENCE}")
        both = generated.matrices[SENTENCE] if earlier is None else earlier.joined(generated.matrices[SENTENCE])
        yield (generated := replace(generated, matrices=generated.matrices | {SENTENCE: both}))


def _to_leave_out(generated: Generated, inside: np.ndarray, quick: Sequence[str]) -> list[int]:
    """Return the numbers of sentences that may matter. inside: the document of each. quick: explainers that have scores."""
    counting = np.flatnonzero(np.isin(inside, generated.counting())).tolist()
    if len(counting) <= FEW_SENTENCES or not quick:
        return counting
    named = generated.named(quick)
    for number in generated.counting():  # of each document its first, so that each is looked at
        if not any(inside[index] == number for index in named):
            named |= generated.named(quick, of=number)
    others = [index for index in counting if index not in named]
    compared = np.random.default_rng(_seed(generated)).permutation(others)[:COMPARED].tolist()
    return [index for index in counting if index in named or index in compared]


def _random_level(generated: Generated, target: Target) -> Iterator[Generated]:
    """Draw texts for the random level: all; or so many at a time, while a citation depends on them."""
    if DOCUMENT not in generated.matrices:  # it was refused, and says why
        yield generated
        return
    texts, sampled = _texts(generated), np.zeros((0, len(target.ids)))
    most = min(generated.wanted.draws, len(texts))
    rounds = range(0, most, FEW_TEXTS) if generated.wanted.thrifty else range(1)
    for first in rounds:
        numbers = range(first, min(first + FEW_TEXTS, most)) if generated.wanted.thrifty else range(most)
        work = partial(_nats_of_other_texts, generated, target, texts, numbers)
        sampled = np.concatenate([sampled, generated.clean.lm.budget.within(generated.clean.length, work)])
        generated = replace(generated, drawn=sampled)
        yield generated
        if not generated.undecided:
            return


def _texts(generated: Generated) -> list[str]:
    """Return the texts of random levels, in an order of this prompt's own."""
    texts = tuple(dict.fromkeys(generated.wanted.texts))
    texts = texts if len(texts) >= FEWEST else rules.neutral_sentences()
    return [texts[index] for index in np.random.default_rng(_seed(generated)).permutation(len(texts))]


def _seed(generated: Generated) -> int:
    """Return the prompt's own."""
    return zlib.crc32(np.array(generated.clean.prompts[0].ids).tobytes())


def _nats_of_other_texts(generated: Generated, target: Target, texts: Sequence[str], numbers: range) -> np.ndarray:
    """Compute (draws, m) the nats that texts about something else give in a document's place, above those of no text.

    numbers: of the draws. The documents take turns, and each text is the first of a draw once. Others follow it, up to the
    length of the document.
    """
    clean, documents = generated.clean, generated.matrices[DOCUMENT]
    (prompt,) = clean.prompts
    positions = tuple(position - len(prompt.ids) for position in target.positions)
    variants, turns = [], [number % max(1, len(documents.units)) for number in numbers]
    for number, turn in zip(numbers, turns, strict=True) if documents.units else ():
        span = documents.units[turn]
        text = " ".join([*texts[number:], *texts[:number]])
        space = " " * prompt.tokens[span.start][:1].isspace()
        filler = tuple(islice(cycle(clean.lm.encode(space + text)), span.end - span.start))
        variants.append((prompt.ids[: span.start] + filler + prompt.ids[span.end :], positions))
    (said_instead,) = logprobs_in(clean, [target], [variants])
    return said_instead.logprobs[:, 0] - (generated.logprobs - documents.values[turns[: len(variants)]])
