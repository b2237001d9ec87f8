"""A world of claims with a planted truth: states, invented and real, in numbered passages of one sentence each.

A claim gives a state several values ("Vestrania has the capital Lisbon, the river Heron and the export tea."). It is supported
if all of them are true, refuted if not. Each value stands in one passage, and these passages are the chain that people would
select; the others are beside the point: another value of the state, or a value of another state.

Claims are made from a seed. Names are held out: no state that evaluation asks about ever occurs in training. Values are not,
so that a model has tokens for them, but training draws them anew for each claim, so that nothing can be learned by heart.
"""

import functools
import random
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from heval_core.citations.records import Claim, Passage
from heval_core.datasets._states import answers, countries
from heval_core.datasets.invented_states import STATES
from heval_core.prompting.prompts import mentions

SUPPORTED, REFUTED = "supported", "refuted"


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


RIVERS = words(
    "Amber Birch Calder Dun Ember Fallow Garnet Heron Iris Juniper Kestrel Laurel Marten Nettle Osprey Pike Quill Raven "
    "Sable Tansy Umber Vale Willow Yarrow"
)
EXPORTS = words(
    "apples barley boots butter candles carpets cheese clocks cotton dates figs flour glass hats honey lamps leather lemons "
    "linen nails olives paper pearls pepper rice rope saffron salt silk soap sugar tea tiles timber tin wheat wool"
)
# Relation ▶ how a passage may say it. x: the state, v: the value, which comes last, so that a model that reads from left to
# right knows at the value whose it is.
WORDINGS = {
    "capital": ("The capital of {x} is {v}.", "In {x} the capital is {v}."),
    "continent": ("{x} lies in {v}.", "On the map one finds {x} in {v}."),
    "currency": ("People in {x} pay with the {v}.", "The currency of {x} is the {v}."),
    "language": ("People in {x} speak {v}.", "The language of {x} is {v}."),
    "river": ("Boats in {x} sail on the {v}.", "The river of {x} is the {v}."),
    "export": ("The main export of {x} is {v}.", "Ships leave {x} full of {v}."),
}
VALUES = {
    **{relation: answers(relation) for relation in ("capital", "continent", "currency", "language")},
    "river": RIVERS,
    "export": EXPORTS,
}
_STARTS = words(
    "Ba Bel Bor Cal Dav Del Dra El Fen Gal Gor Har Ish Jor Kal Kes Lor Mar Mer Nal Or Pel Quan Ru Sar Sum Tar Tor Ves Yar Zan"
)
_MIDDLES = words("a ad an ar bi do el en i il in ka la li mo na or ra ta u vi")
_ENDS = words("dia dora land lia mark nia nora ria rra sia stan tia tova va via zia")
HELD_OUT_IN = 4
# The chance that a state is a real one.
REAL = 0.25


def held_out(name: str) -> bool:
    """Return whether a state is for evaluation: the invented states of the dataset, and a quarter of all other names."""
    return name in STATES or zlib.crc32(f"claims|{name}".encode()) % HELD_OUT_IN == 0


@dataclass(frozen=True)
class World:
    """A world of claims. evaluation: of states held out, real ones with their true values; else of the others, all values
    drawn. supported, rivals: chances that the claim is true, and that a passage beside the point is about another state."""

    evaluation: bool
    supported: float = 0.5
    rivals: float = 0.5


EVALUATION = World(evaluation=True)
TRAINING = World(evaluation=False, supported=0.2)


@dataclass(frozen=True)
class State:
    name: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Statement:
    """The statement that a passage makes."""

    state: str
    relation: str
    value: str


@dataclass(frozen=True)
class Planted:
    """A claim and what is known of it. relations: those that it claims, in order. sources: relation ▶ the number of the
    passage that gives it for the claim's state; also of relations that are not claimed."""

    claim: Claim
    state: State
    relations: tuple[str, ...]
    sources: Mapping[str, int]


@functools.cache
def statement_in(text: str) -> Statement | None:
    """Read the statement of a passage of this world; None for other text."""
    for relation, wordings in WORDINGS.items():
        for wording in wordings:
            pattern = re.escape(wording).replace(r"\{x\}", "(?P<x>.+)").replace(r"\{v\}", "(?P<v>.+)")
            match = re.fullmatch(pattern, text)
            if match:
                return Statement(match["x"], relation, match["v"])
    return None


def name(rng: random.Random, evaluation: bool) -> str:
    """Invent a name: of evaluation, half of them from the dataset's."""
    if evaluation and rng.random() < 0.5:
        return rng.choice(STATES)
    while True:
        invented = rng.choice(_STARTS) + rng.choice(("", rng.choice(_MIDDLES))) + rng.choice(_ENDS)
        if held_out(invented) == evaluation:
            return invented


def _real(rng: random.Random, evaluation: bool) -> State:
    while True:
        row = dict(rng.choice(countries()))
        called = row.pop("country")
        if held_out(called) == evaluation and not any(v in called or called in v for v in row.values()):
            return State(called, row if evaluation else {r: rng.choice(VALUES[r]) for r in row})


def state(rng: random.Random, world: World) -> State:
    if rng.random() < REAL:
        return _real(rng, world.evaluation)
    return State(name(rng, world.evaluation), {relation: rng.choice(values) for relation, values in VALUES.items()})


def planted(rng: random.Random, world: World, key: str) -> Planted:
    """Sample a claim with 4 to 8 passages, of which 3 to 5 are needed."""
    about = state(rng, world)
    relations = rng.sample(sorted(about.values), rng.randint(3, min(5, len(about.values))))
    chosen = [(about, relation) for relation in relations]
    others = [relation for relation in about.values if relation not in relations]
    wanted = len(chosen) + rng.randint(max(1, 4 - len(chosen)), min(3, 8 - len(chosen)))
    while len(chosen) < wanted:
        of_state = others and rng.random() >= world.rivals
        one = about if of_state else state(rng, world)
        relation = others.pop(rng.randrange(len(others))) if of_state else rng.choice(sorted(one.values))
        if _apart(one, relation, chosen):
            chosen.append((one, relation))
    rng.shuffle(chosen)
    passages = tuple(
        Passage(number, rng.choice(WORDINGS[relation]).format(x=one.name, v=one.values[relation]))
        for number, (one, relation) in enumerate(chosen, start=1)
    )
    sources = {relation: number for number, (one, relation) in enumerate(chosen, start=1) if one is about}
    true = rng.random() < world.supported
    text = _claim(about, relations, () if true else rng.sample(relations, rng.randint(1, len(relations))), passages, rng)
    chain = tuple(sorted(sources[relation] for relation in relations))
    claim = Claim(key, text, SUPPORTED if true else REFUTED, passages, (chain,))
    return Planted(claim, about, tuple(relations), sources)


def _apart(one: State, relation: str, others: list[tuple[State, str]]) -> bool:
    """Return whether neither this value nor another would stand in two passages, and no two states have one name."""
    value = one.values[relation]
    if any(other.name == one.name and other is not one for other, _ in others):
        return False
    texts = [f"{other.name} {other.values[known]}" for other, known in others]
    text_of_value = f"{one.name} {value}"
    return not any(mentions(value, text) for text in texts) and not any(
        mentions(other.values[known], text_of_value) for other, known in others
    )


def _claim(
    about: State, relations: list[str], false: list[str] | tuple[()], passages: tuple[Passage, ...], rng: random.Random
) -> str:
    parts = []
    for relation in relations:
        value = about.values[relation]
        while relation in false and any(mentions(value, passage.text) for passage in passages):
            value = rng.choice(VALUES[relation])
        parts.append(f"the {relation} {value}")
    return f"{about.name} has {', '.join(parts[:-1])} and {parts[-1]}."
