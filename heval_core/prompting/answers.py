"""Answers as text: finds the answer in a continuation, and the group whose answer a text begins with. No model, no torch.

Texts are normalised before they are compared: compatibility forms are composed, case is folded, the full stops of an acronym
go, punctuation and runs of white space become one space, and a leading article goes. Others stay: "Vitamin A".
"""

import functools
import re
import unicodedata
from collections.abc import Iterable

from heval_core.prompting.prompts import is_punctuation, mentions, says_nothing

_COPULA = re.compile(r"\b(?:is|was|are|were)\b", re.IGNORECASE)
_NEGATION = re.compile(r"\bnot\b|n['’ʼ]t\b|\bnever\b", re.IGNORECASE)
# Words that may stand for the thing that was asked for.
_STANDS_FOR_IT = {"it", "this", "that", "he", "she", "they", "answer"}
_SMALL = {"the", "a", "an", "of", "in", "on", "at", "to", "by", "for", "and", "or", "who", "what", "which", "where", "when"}
_ACRONYM = re.compile(r"\b(?:\w\.){2,}")
# What may stand before an answer, as in "The answer is: Lyon"; not the sign or the point of a number.
_LEADING = re.compile(r"^(?:[\s:;,.*…–—]|-+(?!\d))+")
_ARTICLE = re.compile(r"^(?:a|an|the)\s+(?=\S)")


def answer_in(text: str, question: str = "", true_answer: str | None = None) -> str:
    """Return the answer in a continuation; empty where it has none.

    The true answer where the text begins with it, or says it in a sentence that does not deny it ("The capital of France is
    Paris"); else the first clause, without the words that only repeat the question. Leading signs (colon, dots) are cut.
    """
    text = _LEADING.sub("", text)
    if true_answer and any(span.start <= 1 for span in mentions(true_answer, text)):  # a sign may stand before it
        return true_answer
    clause = first_clause(text)
    predicate = _predicate_of(clause, question)
    if true_answer and not _NEGATION.search(clause):
        copula = _COPULA.search(clause)
        start = 0 if predicate else copula.end() if copula else len(clause)
        if mentions(true_answer, clause[start:]):
            return true_answer
    answer = _LEADING.sub("", predicate or clause)
    return "" if says_nothing(answer) else answer


def first_clause(text: str) -> str:
    """Return the answer in a continuation that may run on: up to a new line, a next question, or the clause's end."""
    return re.split(r"\n|\bQ:|[.;!?](?:\s|$)|,\s", text.strip(), maxsplit=1)[0].strip()


def _predicate_of(clause: str, question: str) -> str:
    """Return what a sentence says about the thing asked for: "Lyon" in "The capital of France is Lyon"; else empty."""
    copula = _COPULA.search(clause)
    if copula is None:
        return ""
    named = set(_words(clause[: copula.start()])) - _SMALL
    return clause[copula.end() :].strip() if named & (set(_words(question)) | _STANDS_FOR_IT) else ""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


# Verbs of a clause. In lower case only, so that titles ("What Women Want", "Will Smith") are no clauses.
_CLAUSE = re.compile(
    r"\b(?:is|was|are|were|am|has|have|had|do|does|did|can|could|will|would|should|must)\b|\b\w+['’ʼ](?:m|re|ve|ll)\b"
)
_MOST_WORDS = 6


def looks_like_answer(text: str, known: tuple[str, ...], ended: bool, template: str, question: str) -> bool:
    """Return whether what a model says without context may count as an answer. It need not be true.

    It does if it is one of the known answers of the relation, accents aside; also a phrase of at most 6 words that has ended
    (with its clause or line), says nothing of the layout ("A:"), repeats more than the question ("Kenya"), is neither a clause
    ("I'm a player") nor a description ("a country in Africa"), and is a name where all known answers are.
    """
    if _plain(text) in _plain_forms(known):
        return True
    words = text.split()
    if not ended or not normalised(text) or len(words) > _MOST_WORDS or set(_words(text)) <= set(_words(question)):
        return False
    layout = set(re.findall(r"\S*\w:", template))
    described = re.match(r"(?:a|an)\s", text) is not None
    unnamed = text.lstrip("\"'“‘«")[:1].islower() and not any(answer[:1].islower() for answer in known)
    return not layout & set(words) and not _CLAUSE.search(text) and not described and not unnamed


@functools.lru_cache(maxsize=256)
def _plain_forms(known: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_plain, known))


def _plain(text: str) -> str:
    """Normalise a text, and drop its accents."""
    return "".join(char for char in unicodedata.normalize("NFKD", normalised(text)) if not unicodedata.combining(char))


def normalised(text: str) -> str:
    """Normalise a text for comparison (see above). Empty for a text that is only punctuation."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _ACRONYM.sub(lambda acronym: acronym[0].replace(".", ""), text)
    spaced = "".join(" " if is_punctuation(char) else char for char in text if char not in "'’ʼ")
    return _ARTICLE.sub("", " ".join(spaced.split()))


def group_within(answers: Iterable[tuple[str, str]], text: str) -> tuple[str, int]:
    """Return the group whose answer the first sentence of a text names first, and where in the text, in characters.

    Case is ignored; of answers at one place the longest counts. `ambiguous` if two groups have that answer; `denied` if the
    sentence has a negation before it; `other`, -1 if it names none.

    >>> group_within([("C", "Lyon"), ("M", "Paris")], " The capital is not Paris.")
    ('denied', 20)
    """
    start = len(text) - len(text.lstrip())
    sentence = text[: start + len(re.split(r"(?<=[.!?])\s|\n", text[start:], maxsplit=1)[0])]
    named = [
        (span.start, span.start - span.end, group)
        for group, answer in answers
        for span in mentions(_lower(answer), _lower(sentence))
    ]
    if not named:
        return "other", -1
    position, length, group = min(named)
    if _NEGATION.search(sentence[:position]):
        return "denied", position
    return "ambiguous" if sum(mention[:2] == (position, length) for mention in named) > 1 else group, position


def _lower(text: str) -> str:
    """Lower the case of a text; it keeps as many characters."""
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def group_by_text(answers: Iterable[tuple[str, str]], text: str) -> str:
    """Return the group whose answer a text begins with, up to the end of a word. answers: (group, answer).

    If several match, the longest answer wins; `ambiguous` if the longest are equally long, `other` if none matches.
    """
    normal_text, lengths = normalised(text), {}
    for group, answer in answers:
        normal_answer = normalised(answer)
        if any(span.start == 0 for span in mentions(normal_answer, normal_text)):
            lengths[group] = len(normal_answer)
    longest = [group for group, length in lengths.items() if length == max(lengths.values())]
    return "other" if not longest else longest[0] if len(longest) == 1 else "ambiguous"
