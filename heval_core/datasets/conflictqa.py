"""ConflictQA: questions with a passage for what a large model believed, and one for a counter-answer.

Source: huggingface.co/datasets/osunlp/ConflictQA, file `conflictQA-popQA-chatgpt.json`, pinned to the commit below; any file
in its format can be given instead, also those of the strategyQA half. Licence: Apache-2.0.
Reference: Xie et al. 2024, "Adaptive Chameleon or Stubborn Sloth", arXiv 2305.13300.
Fields: `question`, `ground_truth` (aliases), `memory_answer`, `counter_answer` (sentences), `parametric_memory`,
`counter_memory` (passages), and `counter_memory_aligned_evidence`, used if `counter_memory` does not contain the answer.
Records: about 7,900 of popQA, 671 of strategyQA with qwen7b. The paper uses 1,343.
A passage's answer is found word for word: the longest alias of the ground truth that both the passage and its answer
sentence contain, else the words by which the two answer sentences differ. A record whose passage contains neither, or where
neither answer sentence names the ground truth, is left out as `answer not in document` (all of strategyQA, whose answers
are True and False, and whose sentences differ by a "not"). Subject and relation come from popQA's sixteen question
patterns; a question of another form is left out as `subject not known`.
Departure: our models have memories of their own, so the passage for the counter-answer is the conflicting document for all
of them, whether or not it is true; the memory check drops it if a model believes it. Context: about 600 characters.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from os.path import commonprefix
from typing import Any

from heval_core.datasets._forms import Form
from heval_core.datasets._reading import Origin, Record, json_lines, locate, optional_text, read_each, text_of, texts_of
from heval_core.prompting.prompts import mentions
from heval_core.records import Dropped, Fact, Passage

_FORM = Form(known=("counter_memory", "ground_truth"))
_ORIGIN = Origin(
    "conflictQA-popQA-chatgpt.json",
    "huggingface.co/datasets/osunlp/ConflictQA",
    repository="osunlp/ConflictQA",
    revision="056384049e63c1ddae853891c24610fa07d85744",
)

# popQA's patterns (Mallen et al. 2023), by relation.
_QUESTIONS = {
    "occupation": r"What is (?P<x>.+)'s occupation\?",
    "place of birth": r"In what city was (?P<x>.+) born\?",
    "genre": r"What genre is (?P<x>.+)\?",
    "father": r"Who is the father of (?P<x>.+)\?",
    "country": r"In what country is (?P<x>.+)\?",
    "producer": r"Who was the producer of (?P<x>.+)\?",
    "director": r"Who was the director of (?P<x>.+)\?",
    "capital of": r"What is (?P<x>.+) the capital of\?",
    "screenwriter": r"Who was the screenwriter for (?P<x>.+)\?",
    "composer": r"Who was the composer of (?P<x>.+)\?",
    "color": r"What color is (?P<x>.+)\?",
    "religion": r"What is the religion of (?P<x>.+)\?",
    "sport": r"What sport does (?P<x>.+) play\?",
    "author": r"Who is the author of (?P<x>.+)\?",
    "mother": r"Who is the mother of (?P<x>.+)\?",
    "capital": r"What is the capital of (?P<x>.+)\?",
}
_ARTICLES = ("a ", "an ", "the ")


def subject_of(question: str) -> tuple[str, str]:
    """Read (subject, relation) of a popQA question. Raises Dropped for any other."""
    for relation, pattern in _QUESTIONS.items():
        if match := re.fullmatch(pattern, question):
            return match["x"], relation
    raise Dropped("subject not known")


def difference(sentence: str, other: str) -> str:
    """Return the words of a sentence that are left when the beginning and end it shares with the other are cut; "" if it
    shares none.

    >>> difference("Rankin's occupation is a photographer.", "Rankin's occupation is political figure.")
    'photographer'
    """
    ours, theirs = _unstopped(sentence.split()), _unstopped(other.split())
    start = len(commonprefix([ours, theirs]))
    end = len(commonprefix([ours[start:][::-1], theirs[start:][::-1]]))
    if not start and not end:
        return ""
    words = " ".join(ours[start : len(ours) - end])
    for article in _ARTICLES:
        words = words[len(article) :] if words.lower().startswith(article) else words
    return words


def _unstopped(words: list[str]) -> list[str]:
    return [*words[:-1], words[-1].rstrip(".!?")] if words else words


def answer_in(passages: tuple[str, ...], sentence: str, other: str, truth: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the first passage that contains an answer word for word, and that answer; None if no passage does.

    truth: aliases of the true answer. sentence: the answer that the passages support. other: the opposite answer.
    """
    if not any(mentions(alias, text) for alias in truth for text in (sentence, other)):
        return None
    aliases = sorted((a for a in truth if mentions(a, sentence) and not mentions(a, other)), key=len, reverse=True)
    for passage in passages:
        for answer in (*aliases, difference(sentence, other)):
            if mentions(answer, passage):
                return passage, answer
    return None


@dataclass(frozen=True)
class ConflictQA:
    """path: a file in ConflictQA's format; by default from the data folder, then from the hub."""

    path: str | None = None

    key = "conflictqa"
    title = "ConflictQA"
    reference = "Xie et al. 2024, arXiv 2305.13300"
    long = True

    def facts(self) -> Iterator[Record]:
        """Read the facts. Raises HEvalError if the file is missing or empty."""
        return read_each(json_lines(locate(self.key, self.path, _ORIGIN), _FORM), self._fact)

    def _fact(self, record: dict[str, Any]) -> Fact:
        question, truth = text_of(record, "question"), texts_of(record, "ground_truth")
        memory, counter = text_of(record, "memory_answer"), text_of(record, "counter_answer")
        conflicting = answer_in(_texts(record, "counter_memory"), counter, memory, truth)
        if conflicting is None:
            raise Dropped("answer not in document")
        subject, relation = subject_of(question)
        believed = answer_in(_texts(record, "parametric_memory"), memory, counter, truth)
        passage, answer = conflicting
        return Fact(
            id=f"{question}|{answer}",
            dataset=self.key,
            subject=subject,
            relation=relation,
            question=question,
            answer=truth[0],
            conflicting=(Passage(subject, answer, passage),),
            own=Passage(subject, believed[1], believed[0]) if believed else None,
        )


def _texts(record: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return a passage, and its aligned evidence if the record has one. Raises Malformed without the passage."""
    evidence = optional_text(record, f"{name}_aligned_evidence")
    return (text_of(record, name), evidence) if evidence else (text_of(record, name),)


PLUGIN = ConflictQA()
