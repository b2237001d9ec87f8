"""An answer beside another one: written again after a change of its prompt, or two that are kept."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise

from heval_core.figures.answer import SENTENCE, DrawnAnswer, DrawnWord, answer_drawing, sentences_of
from heval_core.present.numbers import so_many
from heval_core.records.whole_answers import AnswerWord, WholeAnswer


@dataclass(frozen=True)
class Comparison:
    """Two answers side by side, each word with whether it changed. document, sentence: as `Change` has them.

    done: the part that is written, about; None where all is.
    """

    document: int | None
    sentence: int | None
    title: str
    said: str
    before: Sequence[tuple[str, bool]]
    after: Sequence[tuple[str, bool]] = ()
    done: float | None = None


# Where a change is, of no document.
QUESTION = "question"


@dataclass(frozen=True)
class Change:
    """What is tried: another text, or none, in place of a document or of one of its sentences; both from 0. Of no document it
    is another question. The white space around what is replaced stays."""

    document: int | None
    sentence: int | None = None
    text: str = ""

    @property
    def location(self) -> str:
        """`2`, a document, or `2.1`, its first sentence; or `question`."""
        if self.document is None:
            return QUESTION
        return f"{self.document + 1}" if self.sentence is None else f"{self.document + 1}.{self.sentence + 1}"

    @property
    def title(self) -> str:
        if self.document is None:
            return "With another question"
        part = "" if self.sentence is None else f"sentence {self.sentence + 1} of "
        return f"{'With another' if self.text.strip() else 'Without'} {part}document {self.document + 1}"

    def span(self, answer: WholeAnswer) -> tuple[int, int]:
        """Return the prompt's tokens that go. Raises IndexError for a sentence that is not there."""
        if self.document is None:
            return answer.question.start, answer.question.end
        whole = answer.documents[self.document]
        return (whole.start, whole.end) if self.sentence is None else sentences_of(answer.tokens, whole)[self.sentence]

    def applied(self, answer: WholeAnswer) -> str:
        """Return the text of the document, or the question, after the change."""
        if self.document is None:
            return self.text.strip()
        whole, (start, end) = answer.documents[self.document], self.span(answer)
        before, part, after = ("".join(answer.tokens[slice(*e)]) for e in pairwise((whole.start, start, end, whole.end)))
        new = re.sub(r"(?s)\S(.*\S)?", lambda _: self.text.strip(), part) if self.text.strip() else ""
        return f"{before}{new}{after}".strip()


def changed_words(old: Sequence[str], new: Sequence[str]) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Return each word of two texts with whether the other lacks it there; white space around it does not count."""
    stripped = [[word.strip() for word in words] for words in (old, new)]
    blocks = SequenceMatcher(a=stripped[0], b=stripped[1], autojunk=False).get_matching_blocks()
    shared = {block.a + offset for block in blocks for offset in range(block.size)}
    stays = {block.b + offset for block in blocks for offset in range(block.size)}
    return [(word, at not in shared) for at, word in enumerate(old)], [(word, at not in stays) for at, word in enumerate(new)]


def compared(before: WholeAnswer, after: WholeAnswer, change: Change) -> Comparison:
    """Return two answers side by side, the words that changed marked, and whether it had been said so: by bars of a document,
    and of a sentence by the losses without each."""
    old, new = before.generated.words, after.generated.words
    was, becomes = changed_words(*([word.text for word in words] for words in (old, new)))
    pointed = [_points_at(before, word, change) for word in old]
    changed = [points for points, (_, removed) in zip(pointed, was, strict=True) if removed]
    lead = f"Predicted: {so_many(sum(pointed), 'word')}. {sum(changed)} of the {len(changed)} that changed were among them"
    added = sum(new for _, new in becomes)
    same = f"No word goes; {added} more follow." if added else "The answer stays the same, word for word."
    summary = f"{lead}; {sum(pointed) - sum(changed)} stayed." if changed else same
    if change.document is None and changed:  # nothing says beforehand what rests on a question
        summary = f"{len(changed)} of {so_many(len(old), 'word')} changed."
    return Comparison(change.document, change.sentence, change.title, summary, was, becomes)


def _points_at(answer: WholeAnswer, word: AnswerWord, change: Change) -> bool:
    """Return whether what is changed was the source of a word; a sentence also has to be the one that is missed most."""
    if change.document is None:
        return False
    from_document = word.source == f"document {change.document + 1}"
    left_out = answer.generated.matrix.get(SENTENCE)
    if not from_document or change.sentence is None or left_out is None:
        return from_document and change.sentence is None
    sums = [sum(row[word.start : word.end]) for row in left_out.values]
    (start, end), unit = change.span(answer), left_out.units[sums.index(max(sums))]
    return max(sums) > 0 and start <= unit.start < end


def side_by_side(one: WholeAnswer, other: WholeAnswer) -> tuple[DrawnAnswer, DrawnAnswer, str]:
    """Return two answers, each word marked that the other lacks or that rests on something else there, and a summary."""
    left, right = answer_drawing(one), answer_drawing(other)
    old, new = ([word.text.strip() for word in answer.words] for answer in (left, right))
    blocks = SequenceMatcher(a=old, b=new, autojunk=False).get_matching_blocks()
    pairs = {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}
    marked = [_marked(left, right, pairs), _marked(right, left, {there: here for here, there in pairs.items()})]
    moved = sum(word.differs.startswith("rests") for word in marked[0].words)
    only = [sum(word.differs == ONLY_HERE for word in answer.words) for answer in marked]
    both = f"{so_many(len(pairs), 'word')} in both, {moved} of them with another source"
    return marked[0], marked[1], f"{both}; {only[0]} at the left alone, {only[1]} at the right alone."


ONLY_HERE = "not in the other answer"


def _marked(one: DrawnAnswer, other: DrawnAnswer, pairs: dict[int, int]) -> DrawnAnswer:
    """Mark what differs. pairs: the indices of words ▶ of the same ones in the other answer."""

    def differs(index: int, word: DrawnWord) -> str:
        if index not in pairs:
            return ONLY_HERE
        there = other.words[pairs[index]].source
        return f"rests on {there} in the other answer" if word.source and there and word.source != there else ""

    words = (replace(word, differs=differs(index, word)) for index, word in enumerate(one.words))
    return replace(one, words=tuple(words))
