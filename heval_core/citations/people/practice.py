"""The practice round: three items of our own words, with the answer and its reason after each."""

from __future__ import annotations

from heval_core.citations.people.items import PRACTICE, Item
from heval_core.citations.records import Passage

_BRIDGE = (
    Passage(
        1, "The old bridge of Varnholt was built of oak in 1823. A flood took it away in the spring of 1861.", "Town history"
    ),
    Passage(2, "The stone bridge that stands today was opened in 1864. It has five arches.", "List of bridges"),
    Passage(3, "Varnholt has 4,100 inhabitants. Most of them work in the paper mill.", "Yearbook"),
)
_TEA = (
    Passage(1, "Water boils at 93 degrees at the hut on Mount Serrin, which stands 2,100 metres above the sea.", "Hut book"),
    Passage(2, "Black tea is best made with water of at least 95 degrees, says the guild of tea makers.", "Guide to tea"),
)
_OWL = (
    Passage(1, "The grey owl hunts at dusk. It eats mice, voles and now and then a frog.", "Field guide"),
    Passage(2, "In 2019 counters found 212 pairs of grey owls in the Lomar forest, 30 more than in 2018.", "Bird count"),
    Passage(3, "The Lomar forest is open to walkers from May to October.", "Visitor leaflet"),
)

ITEMS = (
    Item(
        kind=PRACTICE,
        explanation_id="practice-1",
        claim="The bridge that stands in Varnholt is more than 200 years old.",
        verdict="Refuted",
        passages=_BRIDGE,
        passage=2,
        sentences=(
            "Varnholt had a bridge of oak as early as 1823 [1].",
            "That bridge was lost in a flood in 1861 [1].",
            "The bridge of today was opened only in 1864.",
            "So it is far younger than the claim says.",
        ),
        gold=frozenset({2}),
        feedback="Sentence 3 says what passage [2] says: the bridge of today was opened in 1864. Sentence 4 only draws the "
        "conclusion; what is concluded from a passage need not cite it.",
    ),
    Item(
        kind=PRACTICE,
        explanation_id="practice-2",
        claim="Good black tea cannot be made with water that boils at the Serrin hut.",
        verdict="Supported",
        passages=_TEA,
        passage=1,
        sentences=(
            "The hut lies 2,100 metres above the sea.",
            "Up there water already boils at 93 degrees.",
            "Black tea wants at least 95 degrees [2].",
        ),
        gold=frozenset({0, 1}),
        feedback="Two sentences rest on passage [1]: the height of the hut and the 93 degrees both stand there. Choose every "
        "sentence that should cite the passage, not only the most important one.",
    ),
    Item(
        kind=PRACTICE,
        explanation_id="practice-3",
        claim="There were more grey owls in the Lomar forest in 2019 than the year before.",
        verdict="Supported",
        passages=_OWL,
        passage=3,
        sentences=(
            "In 2019 there were 212 pairs of grey owls, 30 more than in 2018 [2].",
            "The owl lives on mice and voles [1].",
            "The number of pairs has therefore grown.",
        ),
        gold=frozenset(),
        feedback="No sentence says when the forest is open, which is all that passage [3] tells. The right answer is “None of "
        "these”. It is right more than once in a study: some passages are not used at all.",
    ),
)
