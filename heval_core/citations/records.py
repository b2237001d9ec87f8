"""The records of the study: claims, explanations that cite, questions to annotators, and their answers.

Passages are named by the number that they have in the text (`[3]`), sentences by their place from 0.
"""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Passage:
    """One piece of evidence of a claim.

    number: as citations name it, from 0 or from 1, unique within a claim. title: "" if it has none.
    """

    number: int
    text: str
    title: str = ""


@dataclass(frozen=True)
class Written:
    """An explanation that came with a claim. writer: who wrote it, as the data says; "" if it does not.

    selected: the numbers of the passages that the writer was given. text: with markers; sentences: where the data itself says
    what a sentence is, else (). sources: what is known of the truth, per sentence: the numbers of the passages that it was
    made from (() if of none); None where nothing is known. prompt: the id of the prompt that the writer was given, where it is
    one of this program's; explainers read the explanation after it, after the default one without.
    """

    text: str
    selected: tuple[int, ...]
    writer: str = ""
    sentences: tuple[str, ...] = ()
    sources: tuple[tuple[int, ...], ...] | None = None
    prompt: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim with the passages that its verdict may rest on.

    id: unique within its data. verdict: in the data's own words. chains: passages that people selected, one chain for each
    way to the verdict; () where nobody did. written: explanations that came with it. problems: what is wrong with the record
    though it can be used, in plain English.
    """

    id: str
    claim: str
    verdict: str
    passages: tuple[Passage, ...]
    chains: tuple[tuple[int, ...], ...] = ()
    written: tuple[Written, ...] = ()
    problems: tuple[str, ...] = ()

    def passage(self, number: int) -> Passage:
        """Return the passage with a number. Raises KeyError for a number that no passage has."""
        return next(passage for passage in self.passages if passage.number == number)

    def in_order(self, numbers: Collection[int]) -> tuple[int, ...]:
        """Sort those of some numbers that a passage has into the claim's order."""
        return tuple(passage.number for passage in self.passages if passage.number in numbers)


@dataclass(frozen=True)
class CitedSentence:
    """One sentence of an explanation. text: as it was written, with its markers. bare: without any marker.

    cited: the numbers of the passages that it cites, in order, each once; only those that the writer was given.
    """

    text: str
    bare: str
    cited: tuple[int, ...]


@dataclass(frozen=True)
class Explained:
    """An explanation of a claim by one writer from the passages of one selector.

    writer, selector: their keys. selected: the numbers of the passages that the writer was given, in the claim's order.
    prompt: the id of the prompt it was written with; "" if it is not known. sources: see `Written`.
    problems: what is wrong with it though it can be used: a marker without a passage, no citation at all, …
    """

    claim: Claim
    writer: str
    selector: str
    selected: tuple[int, ...]
    sentences: tuple[CitedSentence, ...]
    prompt: str = ""
    sources: tuple[tuple[int, ...], ...] | None = None
    problems: tuple[str, ...] = ()

    @property
    def passages(self) -> tuple[Passage, ...]:
        """Those that the writer was given."""
        return tuple(passage for passage in self.claim.passages if passage.number in self.selected)

    @property
    def cited(self) -> tuple[int, ...]:
        """The numbers of the selected passages that some sentence cites, in the claim's order."""
        named = {number for sentence in self.sentences for number in sentence.cited}
        return tuple(number for number in self.selected if number in named)

    @property
    def unavailable(self) -> str:
        """Why there is none; "" where there is a sentence."""
        return "" if self.sentences else " ".join(self.problems) or "The explanation is empty."


@dataclass(frozen=True)
class StoredExplanation:
    """An explanation with its id and the passage that *sample* masks; None if there is none."""

    id: str
    explained: Explained
    sampled: int | None


@dataclass(frozen=True)
class Question:
    """What an annotator is asked: which sentences should cite this passage?

    passage: the number of the passage whose citation is masked. sentences: all of the explanation, without the markers of
    this passage. gold: places of the sentences that cited it; empty for a passage that no sentence cites.
    """

    explained: Explained
    passage: int
    sentences: tuple[str, ...]
    gold: frozenset[int]


@dataclass(frozen=True)
class Choice:
    """An annotator's answer: the places of the sentences it chose, maybe none.

    scores: one number per sentence, more being more in favour; None where the annotator has none. problem: why the answer
    could not be read ("" if it could); it counts as an answer without sentences then.
    """

    chosen: frozenset[int]
    scores: tuple[float, ...] | None = None
    problem: str = ""


@dataclass(frozen=True)
class Recovery:
    """An annotator's answer about one passage of an explanation, as it is stored, with its scores.

    annotator: its key; of people one each, `person:NAME`. gold, predicted: places of the sentences that cited the passage, and
    of those that the annotator chose. chance: the F1 of as many sentences chosen at random. scores, problem: see `Choice`.
    """

    passage: int
    annotator: str
    gold: tuple[int, ...]
    predicted: tuple[int, ...]
    precision: float
    recall: float
    f1: float
    chance: float
    scores: tuple[float, ...] | None = None
    problem: str | None = None
