"""Where an answer stands in the tokens of a prompt, and how many of the question's words stand in the same sentence.

A mention is one of the whole answer (`prompts.mentions`), not of its first token, which may belong to another word; in what is
ranked outside the question: documents, padding, and the words of a layout between them. Its tokens are all that overlap it.
Sentences are those of `splitting`, and none reaches from one document into the next.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

from heval_core.prompting.prompts import mentions
from heval_core.prompting.units import indices_in, units_of
from heval_core.records import Span
from heval_core.records.stored_instances import PlainPrompt
from heval_core.texts.splitting import words


def mentions_in(prompt: PlainPrompt) -> list[Span]:
    """Return the tokens of every mention of the answer, in the order of the prompt."""
    spans = []
    for passage in _passages(prompt):
        tokens = prompt.tokens[passage.start : passage.end]
        starts = [0, *accumulate(map(len, tokens))]
        for mention in mentions(prompt.answer, "".join(tokens)):
            end = bisect_left(starts, mention.end, hi=len(tokens))
            while end < len(tokens) and not tokens[end]:  # the rest of a character
                end += 1
            spans.append(Span(passage.start + bisect_right(starts, mention.start) - 1, passage.start + end))
    return spans


def words_shared(prompt: PlainPrompt, spans: Sequence[Span]) -> list[int]:
    """Count the different words of the question, in any case, that stand in the sentence in which each span begins."""
    inside = [passage for passage in _passages(prompt) if any(passage.start <= span.start < passage.end for span in spans)]
    sentences = [
        unit.moved(passage.start)
        for passage in inside
        for unit in units_of(prompt.tokens[passage.start : passage.end], [""] * (passage.end - passage.start), "sentence")
    ]
    of_question = _words(prompt.question.text(prompt.tokens))
    return [len(of_question & _words(sentences[index].text(prompt.tokens))) for index in indices_in(spans, sentences)]


def _passages(prompt: PlainPrompt) -> Iterator[Span]:
    """Yield the ranked tokens outside the question, in runs of one document, or of none."""
    parts: list[int | None] = [-1] * len(prompt.tokens)
    for part, span in ((None, prompt.question), *enumerate(prompt.documents)):
        parts[span.start : span.end] = [part] * (span.end - span.start)
    for part, run in groupby(prompt.ranked, parts.__getitem__):
        if part is not None:
            indices = list(run)
            yield Span(indices[0], indices[-1] + 1)


def _words(text: str) -> set[str]:
    """Return the words of a text in lower case; a word with an apostrophe is two."""
    return {part.casefold() for word in words(text) for part in re.findall(r"\w+", text[word.start : word.end])}
