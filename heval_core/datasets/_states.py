"""195 sovereign states, the members and observers of the United Nations: a table, and sentences that say what it holds.

Profiles are in the sentences of an encyclopaedia; a hash of the state's name chooses among three wordings of each. Where a
dataset has no passage that is off topic, one is made of single sentences, or of two of a profile, and of sentences about
nothing in particular that make it about as long as the dataset's own.

`aliases.csv` has another name for most of their answers: what a capital is or was called in another language or at another
time, or its airport's code; a continent by its adjective; the code of a currency that is one state's (or the euro); a language
in another language.

Columns: country, capital, continent, currency (the unit's name), language (an official or national one).
If a capital is disputed, or the seat of government is elsewhere, the table has one of the two: these are facts to ask
small models about, not a gazetteer.
"""

import csv
import functools
import random
import zlib
from collections.abc import Iterator, Mapping
from importlib.resources import files

from heval_core.records import Fact, Passage

RELATIONS = ("capital", "continent", "currency", "language")

QUESTIONS = {
    "capital": "What is the capital of {x}?",
    "continent": "Which continent is {x} in?",
    "currency": "What is the currency of {x}?",
    "language": "Which language is official in {x}?",
}


@functools.cache
def countries() -> tuple[dict[str, str], ...]:
    """Return one row per state, as column name ▶ value."""
    text = files("heval_core.datasets").joinpath("countries.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@functools.cache
def _other_names() -> dict[tuple[str, str], str]:
    text = files("heval_core.datasets").joinpath("aliases.csv").read_text(encoding="utf-8")
    return {(row["relation"], row["answer"]): row["alias"] for row in csv.DictReader(text.splitlines())}


def aliases(relation: str, *of: str) -> tuple[tuple[str, str], ...]:
    """List (answer, another name) of those answers of a relation that have one."""
    names = _other_names()
    return tuple((answer, names[relation, answer]) for answer in of if (relation, answer) in names)


@functools.cache
def answers(relation: str) -> tuple[str, ...]:
    """Return all distinct values of one relation, sorted."""
    return tuple(sorted({row[relation] for row in countries()}))


_OPENINGS = (
    "{country} is a sovereign state in {continent}.",
    "In {continent} lies {country}, a state with its own flag and anthem.",
    "{country} belongs to the countries of {continent}.",
)
_CAPITALS = (
    "Its capital is {capital}, where visitors find museums, a university and the largest library.",
    "The capital of the country is {capital}, a city with several markets and a busy station road.",
    "The city of {capital} is the capital, and many roads and bus lines begin there.",
)
_CURRENCIES = (
    "People pay with the {currency}, and prices in shops are given in it.",
    "The currency is the {currency}, which the central bank issues as notes and coins.",
    "Money is counted in the {currency}, as every shop window shows.",
)
_LANGUAGES = (
    "{language} is an official language and is taught in the schools.",
    "Laws and newspapers are printed in {language}, which is an official language.",
    "Among the official languages is {language}, heard on the radio and in court.",
)
CLOSINGS = (
    "Most visitors arrive by air, and many of them come for the food and the music.",
    "Weather records and old maps are kept in a public archive.",
    "Football is popular, and the national team plays at home each year.",
)


SENTENCES = {"capital": _CAPITALS, "currency": _CURRENCIES, "language": _LANGUAGES}


def sentences(row: Mapping[str, str], relation: str, answer: str) -> list[str]:
    """Return the sentences of one state's profile, in which `relation` has the value `answer`."""
    capital, currency, language, turn, opening, closing = _choices(row)
    middle, values = [_CAPITALS[capital], _CURRENCIES[currency], _LANGUAGES[language]], {**row, relation: answer}
    frames = [_OPENINGS[opening], *middle[turn:], *middle[:turn], CLOSINGS[closing]]
    return [frame.format(**values) for frame in frames]


def entry(row: Mapping[str, str], relation: str, answer: str) -> str:
    """Return the first sentence of a profile, which names the state, and the one that gives its capital, currency or
    language.
    """
    choices, values = _choices(row), {**row, relation: answer}
    frames = _OPENINGS[choices[4]], SENTENCES[relation][choices[list(SENTENCES).index(relation)]]
    return " ".join(frame.format(**values) for frame in frames)


def _choices(row: Mapping[str, str]) -> tuple[int, int, int, int, int, int]:
    """Choose a state's wording of each sentence and its order, of three each, by a hash of its name."""
    kind = zlib.crc32(row["country"].encode())
    return kind % 3, kind // 3 % 3, kind // 9 % 3, kind // 27 % 3, kind // 81 % 3, kind // 243 % 3


STATEMENTS = {
    "capital": "The capital of {x} is {y}.",
    "continent": "{x} is a country in {y}.",
    "currency": "The currency of {x} is the {y}.",
    "language": "An official language of {x} is {y}.",
}
# They name nobody, no place and no number, so they answer no question.
NEUTRAL = (
    "Fresh bread keeps longer in a cloth than in the open air.",
    "A wooden floor creaks more in a dry winter than in a wet summer.",
    "Most libraries lend books for a few weeks at a time.",
    "A kettle sings shortly before its water boils.",
    "Old doors often stick after a week of rain.",
    "Pencils are sharpened more easily than they are found.",
    "Cats sleep through most of the day and hunt at dusk.",
    "A good umbrella turns inside out at least once.",
    "Wool shrinks in hot water and keeps its shape in cold.",
    "Letters used to be sealed with wax and a stamp.",
    "Bees return to the same flowers until these have faded.",
    "A ladder should stand on firm and level ground.",
)


def state(relation: str, subject: str, answer: str) -> Passage:
    """Write one sentence that gives a state's capital, continent, currency or language."""
    return Passage(subject, answer, STATEMENTS[relation].format(x=subject, y=answer))


@functools.cache
def statements() -> tuple[Passage, ...]:
    """Return every entry of the table as one sentence."""
    return tuple(state(relation, row["country"], row[relation]) for row in countries() for relation in RELATIONS)


@functools.cache
def entries() -> tuple[Passage, ...]:
    """Return capitals, currencies and languages of the table as two sentences of a profile; the first one gives the
    continent.
    """
    return tuple(
        Passage(row["country"], row[relation], entry(row, relation, row[relation]))
        for row in countries()
        for relation in SENTENCES
    )


def fact_about(fact_id: str, dataset: str, relation: str, gold: Passage, false: Passage) -> Fact:
    """Build what is asked about a state. gold: with the true answer. false: with another one."""
    return Fact(
        id=fact_id,
        dataset=dataset,
        subject=gold.subject,
        relation=relation,
        question=QUESTIONS[relation].format(x=gold.subject),
        answer=gold.answer,
        conflicting=(false,),
        own=gold,
        aliases=aliases(relation, gold.answer, false.answer),
    )


def of_length(characters: int, rng: random.Random) -> Iterator[Passage]:
    """Yield passages about states, in random order: two sentences each if so many characters have room for them, then one
    each.

    Other sentences that fit into the rest are put around them.
    """
    fitting = [passage for passage in entries() if len(passage.text) <= characters]
    for passages in (fitting, statements()):
        for passage in rng.sample(passages, len(passages)):
            yield _lengthened(passage, characters, rng)


def _lengthened(passage: Passage, characters: int, rng: random.Random) -> Passage:
    texts, left = [passage.text], characters - len(passage.text)
    for sentence in (*rng.sample(CLOSINGS, len(CLOSINGS)), *rng.sample(NEUTRAL, len(NEUTRAL))):
        if len(sentence) + 1 > left:
            break
        texts.insert(rng.randrange(len(texts) + 1), sentence)
        left -= len(sentence) + 1
    return Passage(passage.subject, passage.answer, " ".join(texts))
