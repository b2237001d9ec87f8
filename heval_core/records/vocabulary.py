"""The words that people meet: one record each, with its key in stored results, its title, and what it means.

Here stand the words of the study. What plug-ins are called is in the catalogue, and `heval_core.present.names` reads it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heval_core.records.groups import document_of

# In place of the interval of what other questions would not change.
BY_CONSTRUCTION = "by construction"


class Term(NamedTuple):
    """A word that people meet.

    short: the title where there is little room; the title itself where it is short enough.
    """

    key: str
    title: str
    meaning: str
    short: str


Vocabulary = Mapping[str, Term]


def _words(*rows: tuple[str, ...]) -> dict[str, Term]:
    """Build words from rows: (key, title), then meaning and short title where they say something."""
    return {key: Term(key, title, more[0] if more else "", more[1] if len(more) > 1 else title) for key, title, *more in rows}


def titles(words: Vocabulary) -> dict[str, str]:
    """Map key ▶ title."""
    return {word.key: word.title for word in words.values()}


class RegimeWord(NamedTuple):
    """How documents are combined. meaning: what they say; an instance's own captions say it of each document.

    documents: how many. of_paper: whether the paper has it. followed: where techniques are compared, whether an answer should
    follow the document; else None.
    """

    key: str
    title: str
    meaning: str
    documents: int
    of_paper: bool = True
    followed: bool | None = None


REGIMES = {
    regime.key: regime
    for regime in (
        RegimeWord("gold", "Gold", "one document, which gives the true answer", 1, False, True),
        RegimeWord("conflicting", "Conflicting", "one document, which contradicts what the model remembers", 1, True, True),
        RegimeWord("irrelevant", "Irrelevant",
                   "one document about another subject, with an answer of the same kind", 1, True, False),
        RegimeWord("off_topic", "Off topic", "one document about something else altogether", 1, False, False),
        RegimeWord("double_conflicting", "Double conflicting",
                   "two documents, which contradict the model's memory and each other", 2),
        RegimeWord("mixed", "Mixed",
                   "two documents: the first is about another subject, the second contradicts the model's memory", 2),
        RegimeWord("double_conflicting_swap", "Double conflicting, swapped",
                   "the two documents of double conflicting, in the other order", 2),
        RegimeWord("mixed_swap", "Mixed, swapped", "the two documents of mixed, in the other order", 2),
    )
}  # fmt: skip

DECOYS = _words(
    ("d0", "Decoy d0", "each document ends with a neutral sentence"),
    ("d1", "Decoy d1", "each document also names the other one's answer, in another role"),
    ("d2", "Decoy d2", "each document gives its answer three times"),
    ("d3", "Decoy d3", "each document gives its answer under another name"),
    ("trust", "Decoy trust", "both documents name both answers; one is from a reliable source, the other is not"),
    ("loud", "Decoy loud", "both documents name both answers; one gives its own three times, ever louder"),
    ("twice", "Decoy twice", "the document gives two answers twice each, of which the question asks for one"),
)  # fmt: skip

# Where the documents stand among other passages.
POSITIONS = _words(
    ("first", "First", "the documents stand before them"),
    ("middle", "Middle", "the documents stand among them"),
    ("last", "Last", "the documents stand after them"),
)  # fmt: skip

# Where answers came from; see `group_title` for more documents.
GROUPS = _words(
    ("C", "C: from the document"),
    ("M", "M: from memory"),
    ("C1", "C1: from document 1"),
    ("C2", "C2: from document 2"),
    ("other", "other answer"),
    ("ambiguous", "ambiguous"),
    ("denied", "denied answer"),
)  # fmt: skip

_UNCOMPARED = {
    "other": "neither a document's answer nor memory's",
    "ambiguous": "from more than one source at once, or its first token does not tell which",
    "denied": "an answer that the model says is wrong",
}

# How well answers used their context: measures of the comparison of techniques.
BEHAVIOURS = _words(
    ("bcu", "BCU: context used or not",
     "the share of answers that are what the context asks for: the document's answer for gold and conflicting "
     "contexts, Regular's own answer without documents for irrelevant ones and those off topic", "BCU"),
    ("ccu", "CCU: change of the probability",
     "how far the context moves the probability of that answer, from -1 to 1; 0 is no change", "CCU"),
    ("accuracy", "Accuracy", "the share of answers that begin as the true answer does"),
    ("memory_kept", "Memory kept",
     "the share of questions whose answer without documents is still Regular's; a technique that loses it has "
     "changed the model, not its use of the context"),
    ("neither", "Neither", "the share of answers that are neither the document's nor memory's"),
    ("bcu_unknown", "BCU where memory did not know", "BCU over the questions whose gold answer memory did not know"),
    ("discrimination", "Discrimination J",
     "BCU conflicting + BCU irrelevant - 1: 0 for a technique that is blind to relevance, 1 for a perfect one", "J"),
    ("discrimination_off_topic", "Discrimination J, off topic",
     "the same with off-topic documents in place of irrelevant ones", "J, off topic"),
)  # fmt: skip

# What BCU may depend on.
FEATURES = _words(
    ("parameters", "Size of the model", "log10 of the number of weights"),
    ("instruct", "Instruction-tuned", "1 if the model follows instructions, else 0"),
    ("memory_strength", "Memory strength", "probability of Regular's own answer without documents"),
    ("length", "Length of the document", "tokens of the document"),
    ("flesch", "Reading ease", "Flesch reading ease of the document: higher is easier"),
    ("overlap", "Overlap with the question", "share of the question's content words that stand in the document"),
    ("answer_position", "Position of the answer", "place of the answer in the document, from 0 to 1"),
    ("distractors", "Other answers mentioned", "share of the relation's other answers that the document mentions"),
    ("judged_relevance", "Judged relevant", "1 where the model, asked as an agent, called the document relevant"),
)  # fmt: skip

CITATION_MEASURES = _words(
    ("f1", "F1 of recovered citations",
     "harmonic mean of precision and recall over the sentences that should cite a masked passage, 0 for a passage "
     "that no sentence cites; mean over masked citations"),
    ("f1_of_claims", "F1, each claim counting the same", "the same, first averaged within each claim"),
    ("precision", "Precision", "of the sentences that an annotator marks, the share that cited the masked passage"),
    ("recall", "Recall", "of the sentences that cited the masked passage, the share that an annotator marks"),
    ("correct_rejection", "Omitted citations left unmarked",
     "of the passages that no sentence cites, the share for which an annotator marks no sentence"),
    ("transparent", "Transparent explanations",
     "the share of explanations in which every cited passage is found with an F1 of .6 or more"),
    ("unreadable", "Unreadable answers", "the share of answers that could not be read; they count as marking nothing"),
    ("supported", "Supported", "of the sentences with a citation, the share that rests on the passage it cites"),
    ("wrong_marker", "Wrong marker",
     "of the sentences with a citation, the share that rests on another passage than the one it cites"),
    ("unsupported_sentence", "Unsupported sentence", "the share of all sentences that rest on no passage"),
    ("omitted_citation", "Omitted citation",
     "the share of all sentences that rest on a passage they do not cite, wrong markers apart"),
    ("source", "Source found", "of the sentences made from a passage, the share that is found to rest on it"),
    ("source_behind_wrong_marker", "Source found behind a wrong marker", "the same of those that cite only other passages"),
    ("no_source", "No source, none found", "of the sentences made from no passage, the share that is found to rest on none"),
    ("omitted", "Passages no sentence cites", "the share of selected passages that no sentence cites"),
    ("uncited", "Sentences without citation", "the share of sentences without any citation"),
    ("retrieval_precision", "Precision of the selected passages",
     "of the selected passages, against the best chain of people"),
    ("retrieval_recall", "Recall of the selected passages", "of the selected passages, against the best chain of people"),
    ("retrieval_f1", "F1 of the selected passages", "of the selected passages, against the best chain of people"),
)  # fmt: skip

MASKINGS = _words(
    ("full", "full: every citation"),
    ("sample", "sample: one of each explanation"),
)  # fmt: skip

# What stands in place of a token that faithfulness takes out.
REPLACEMENTS = _words(
    ("baseline", "feature ablation's baseline token"),
    ("drawn", "drawn by frequency"),
    ("deletion", "deletion"),
    ("all", "mean"),
)  # fmt: skip

# What an explainer's best token may be. See `heval_core.evaluation.patterns`.
PATTERNS = _words(
    ("answer", "The answer", "A token of the answer ranks first."),
    ("wrong_document", "Other document", "A token of the other document, or of padding, ranks first."),
    ("question", "The question", "A token of the question, or of the template around it, ranks first."),
    ("function_word", "Function word", "A function word or punctuation of the used document ranks first."),
    ("near_entity", "Near the entity", "The entity asked about, or a word within three tokens of it, ranks first."),
    ("other", "Another word", "Another word of the used document ranks first."),
    ("tied", "Several, tied", "Tokens of different kinds share the first rank."),
)  # fmt: skip

# Why metrics leave out a record or an instance: the stored words, and what they mean.
_REASONS = (
    ("answer not in document", "the document does not contain its answer word for word"),
    ("answer is the memory answer", "a conflicting document gives the answer that the model also gives from memory"),
    ("memory answer is not true", "the model does not remember the dataset's true answer, as `--memory true` requires"),
    ("no memory answer", "the model gives no answer without context, so an answer cannot be traced to its memory"),
    ("memory answer in document", "a document contains the memory answer, other than as part of the subject's name (a leak)"),
    ("same first token", "two candidate answers begin with the same token, so the first token does not tell which was given"),
    ("same answer", "two candidate answers are the same text, so the text does not tell which was given"),
    ("answer has no token", "the tokenizer has no token for a candidate answer but punctuation, so it cannot be recognised"),
    ("prompt too long", "the prompt is longer than the model can read"),
    ("no irrelevant document", "every document about another subject mentions this subject or one of its answers"),
    ("no gold document", "the dataset has no document with the true answer, and none whose false answer could be replaced"),
    ("no off-topic document", "every document of another relation mentions this subject, or an answer to its question"),
    ("no second conflicting document", "no other false answer fits into the document"),
    ("no conflicting document", "the relation has no other answer to serve as the false one"),
    ("duplicate", "the same question with the same false answer appears earlier in the data"),
    ("answer in subject", "the subject's name contains the true answer (a leak), so the model may copy it from the question"),
    ("no verdict", "the claim has no fact-checkers' verdict, so its evidence neither agrees nor disagrees with one"),
    ("subject not known", "the record does not name its subject, so other documents cannot be checked for mentions of it"),
    ("not sampled", "the cell has more instances than its cap, and the stratified sample left this one out"),
    ("answer once", "the document does not give its answer twice, which the decoy twice needs"),
    ("no decoy", "a decoy needs two documents that state different answers, and neither may mention the other's"),
    ("answer too often",
     "a document gives its answer more than three times, so that a decoy cannot make it three (d2), or a string "
     "match finds the answer more than once in its document, or elsewhere than the decoy puts it (others but d3)"),
    ("no other name", "no other name is known for the answer of one of the documents (d3)"),
    ("name begins as the answer", "a token of another name is the first token of an answer, which a string would match (d3)"),
    ("documents too long", "the documents and the question alone are longer than the length that was asked for"),
    ("too little padding", "the dataset has too few other passages to make the prompt as long as was asked for"),
    ("memory is no answer", "what the model says without context does not look like an answer to the question, such as “A:”"),
)  # fmt: skip
DROP_REASONS = _words(*((reason, reason, meaning) for reason, meaning in _REASONS))
PATTERN_KINDS = tuple(pattern for pattern in PATTERNS if pattern != "tied")
# Measures of citations, by what they are of.
OF_EXPLAINERS = ("supported", "wrong_marker", "unsupported_sentence", "omitted_citation")
OF_SOURCES = ("source", "source_behind_wrong_marker", "no_source")
OF_EXPLANATIONS = ("omitted", "uncited", "retrieval_precision", "retrieval_recall", "retrieval_f1")

TAUGHT_NOTE = (
    "These models were taught a rule: which sources to believe. So the truth is known, and explainers can be checked against "
    "it. They are tiny (under 2 million parameters), and their numbers say nothing about real models."
)
REAL_NOTE = (
    "These are two real models, but small ones (135 and 270 million parameters, kept in 4 bits and computed in 32). What "
    "holds for them need not hold for large models; the paper's are six to fifty times as large."
)
_SIGNS = {
    ".": "a full stop", ",": "a comma", ":": "a colon", ";": "a semicolon", "?": "a question mark", "-": "a hyphen",
    "!": "an exclamation mark", '"': "a quotation mark", "'": "an apostrophe", "(": "a bracket", ")": "a bracket",
}  # fmt: skip
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def group_title(group: str) -> str:
    """Return a group in words: `C3: from document 3`."""
    document = document_of(group)
    known = GROUPS.get(group)
    return known.title if known else group if document is None else f"{group}: from document {document + 1}"


def answer_from(group: str) -> str:
    """Return where an answer came from, in words: `from document 2`, `from memory`."""
    if group in _UNCOMPARED:
        return _UNCOMPARED[group]
    return group_title(group).partition(": ")[2] or group


def dataset_title(dataset: str, titles: Mapping[str, str]) -> str:
    """Return a dataset's name for people. titles: plug-in ▶ title. A part or file of it (`name/part`) is named after it."""
    name, _, part = dataset.partition("/")
    title = titles.get(name, name)
    return f"{title}, {part}" if part else title


# Ends the title of a method that is this project's own, so that it stands wherever the title does.
OURS = " (ours)"


def short_name(title: str) -> str:
    """Return a control's title without the word that its place already says."""
    return title.removesuffix(" (control)")


def token_name(token: str) -> str:
    """Return a token as a sentence has it: `“census”`, or `a full stop`, which quotation marks would hide."""
    text = token.strip()
    return _SIGNS.get(text, f"“{text}”" if text else "white space")


def counted(count: int, one: str, several: str = "") -> str:
    """Count in words: `three models`, `one dataset`, `7,545 instances`. several: the plural, by default with an s."""
    word = _COUNTS[count] if 0 <= count < len(_COUNTS) else f"{count:,}"
    return f"{word} {one if count == 1 else several or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Join names in words: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# Words of closed classes; a token is compared without spaces and in lower case.
_CLOSED = """
a an and are as at be been being but by can could did do does for from had has have he her his how i if in
into is it its may might must no nor not of off on onto or our over shall she should since so than that the
their them then there these they this those though to under until up upon was we were what when where which
while who whom whose will with within without would you your according
"""
FUNCTION_WORDS = frozenset(_CLOSED.split())
