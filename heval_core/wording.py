"""How numbers, regimes and groups are written wherever people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from heval_core.groups import document_of
from heval_core.records import HEvalError
from heval_core.regime_keys import read_key


def number(value: float | None, digits: int = 2) -> str:
    """`digits` decimals below 1, one below 10, none above: 0.42, 3.1, 17. A dash for a missing value."""
    if value is None or pd.isna(value):
        return "–"
    if abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:.{digits}f}" if abs(value) < 1 else f"{value:.1f}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def share(probability: float) -> str:
    """A probability as a reader says it: `98 %`, `0.3 %`, `< 0.1 %`."""
    percents = 100 * probability
    if percents >= 1 or percents == 0:
        return f"{percents:.0f} %"
    return f"{percents:.1f} %" if percents >= 0.1 else "< 0.1 %"


REGIME_TITLES = {
    "gold": "Gold",
    "conflicting": "Conflicting",
    "irrelevant": "Irrelevant",
    "off_topic": "Off topic",
    "double_conflicting": "Double conflicting",
    "mixed": "Mixed",
    "double_conflicting_swap": "Double conflicting, swapped",
    "mixed_swap": "Mixed, swapped",
}
# What the documents of a regime say, in a sentence; an instance's own captions say it of each document.
REGIME_MEANINGS = {
    "gold": "one document, which gives the true answer",
    "conflicting": "one document, which contradicts what the model remembers",
    "irrelevant": "one document about another subject, with an answer of the same kind",
    "off_topic": "one document about something else altogether",
    "double_conflicting": "two documents, which contradict the model's memory and each other",
    "mixed": "two documents: the first is about another subject, the second contradicts the model's memory",
    "double_conflicting_swap": "the two documents of double conflicting, in the other order",
    "mixed_swap": "the two documents of mixed, in the other order",
}
STANDS = {"first": "before them", "middle": "among them", "last": "after them"}
DECOY_MEANINGS = {
    "d0": "each document ends with a neutral sentence",
    "d1": "each document also names the other one's answer, in another role",
    "d2": "each document gives its answer three times",
    "d3": "each document gives its answer under another name",
}


def regime_title(key: str) -> str:
    """`Mixed`, or with its options: `Mixed · decoy d1 · 1,024 tokens, first`. What is no regime stays as it is."""
    try:
        one = read_key(key)
    except HEvalError:
        return key
    options = [f"decoy {one.decoy}"] if one.decoy else []
    options += [f"{one.length:,} tokens, {one.place}"] if one.length else []
    return " · ".join([REGIME_TITLES[one.base], *options])


def regime_meaning(key: str) -> str:
    """What the documents of a regime say, and what its options do; empty for what is no regime."""
    try:
        one = read_key(key)
    except HEvalError:
        return ""
    added = [DECOY_MEANINGS[one.decoy]] if one.decoy else []
    if one.place:
        added.append(f"other passages make the prompt {one.length:,} tokens long; the documents stand {STANDS[one.place]}")
    return "; ".join([REGIME_MEANINGS[one.base], *added])


# How well answers used their context: measures of the comparison of techniques.
BEHAVIOUR_TITLES = {
    "bcu": "BCU: context used or not",
    "ccu": "CCU: change of the probability",
    "accuracy": "Accuracy",
    "memory_kept": "Memory kept",
    "neither": "Neither",
    "bcu_unknown": "BCU where memory did not know",
    "discrimination": "Discrimination J",
    "discrimination_off_topic": "Discrimination J, off topic",
}
BEHAVIOUR_MEANINGS = {
    "bcu": "the share of answers that are what the context asks for: the document's answer for gold and conflicting contexts, "
    "Regular's own answer without documents for irrelevant ones and those off topic",
    "ccu": "how far the context moves the probability of that answer, from -1 to 1; 0 is no change",
    "accuracy": "the share of answers that begin as the true answer does",
    "memory_kept": "the share of questions whose answer without documents is still Regular's; a technique that loses it has "
    "changed the model, not its use of the context",
    "neither": "the share of answers that are neither the document's nor memory's",
    "bcu_unknown": "BCU over the questions whose gold answer memory did not know",
    "discrimination": "BCU conflicting + BCU irrelevant - 1: 0 for a technique that is blind to relevance, 1 for a perfect "
    "one",
    "discrimination_off_topic": "the same with off-topic documents in place of irrelevant ones",
}
# What BCU may depend on.
FEATURE_TITLES = {
    "parameters": "Size of the model",
    "instruct": "Instruction-tuned",
    "memory_strength": "Memory strength",
    "length": "Length of the document",
    "flesch": "Reading ease",
    "overlap": "Overlap with the question",
    "answer_position": "Position of the answer",
    "distractors": "Other answers mentioned",
    "judged_relevance": "Judged relevant",
}
FEATURE_MEANINGS = {
    "parameters": "log10 of the number of weights",
    "instruct": "1 if the model follows instructions, else 0",
    "memory_strength": "probability of Regular's own answer without documents",
    "length": "tokens of the document",
    "flesch": "Flesch reading ease of the document: higher is easier",
    "overlap": "share of the question's content words that stand in the document",
    "answer_position": "place of the answer in the document, from 0 to 1",
    "distractors": "share of the relation's other answers that the document mentions",
    "judged_relevance": "1 where the model, asked as an agent, called the document relevant",
}
GROUP_TITLES = {
    "C": "C: from the document",
    "M": "M: from memory",
    "C1": "C1: from document 1",
    "C2": "C2: from document 2",
    "other": "other answer",
    "ambiguous": "ambiguous",
}


def dataset_title(dataset: str, titles: Mapping[str, str]) -> str:
    """A dataset's name for people. titles: plug-in ▶ title. A part or file of it (`name/part`) is named after it."""
    name, _, part = dataset.partition("/")
    title = titles.get(name, name)
    return f"{title}, {part}" if part else title


def group_title(group: str) -> str:
    """A group in words: `C3: from document 3`."""
    document = document_of(group)
    return GROUP_TITLES.get(group, group if document is None else f"{group}: from document {document + 1}")


_SIGNS = {".": "a full stop", ",": "a comma", ":": "a colon", "?": "a question mark", "!": "an exclamation mark"}
_SIGNS |= {
    ";": "a semicolon",
    "-": "a hyphen",
    '"': "a quotation mark",
    "(": "a bracket",
    ")": "a bracket",
    "'": "an apostrophe",
}


def token_name(token: str) -> str:
    """A token in a sentence: `“census”`, or `a full stop`, which quotation marks would hide."""
    text = token.strip()
    return _SIGNS.get(text, f"“{text}”" if text else "white space")


def answer_from(group: str) -> str:
    """Where an answer came from, in words: `from document 2`, `from memory`, `another answer`."""
    if group in ("other", "ambiguous"):
        return {"other": "neither a document's answer nor memory's", "ambiguous": "from more than one source at once"}[group]
    return group_title(group).partition(": ")[2] or group


DEMO_NOTE = (
    "These are the bundled demo results: four tiny language models (under 2 million parameters), trained for this project to "
    "know countries and to believe trusted kinds of sources. They are not the models of the paper, and their numbers say "
    "nothing about real ones."
)


def ordinal(rank: float) -> str:
    """`2nd`, `33rd`; `about 12th` for a rank that is an average over a tie."""
    whole = round(rank)
    ending = "th" if whole % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(whole % 10, "th")
    return f"{'' if whole == rank else 'about '}{whole:,}{ending}"


_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def counted(count: int, one: str, several: str = "") -> str:
    """`three models`, `one dataset`, `7,545 instances`. several: the plural, by default with an s."""
    word = _COUNTS[count] if 0 <= count < len(_COUNTS) else f"{count:,}"
    return f"{word} {one if count == 1 else several or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def short_name(title: str) -> str:
    """A control's title without the word that its place already says."""
    return title.removesuffix(" (control)")
