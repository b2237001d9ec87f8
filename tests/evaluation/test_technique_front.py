"""The trade-off between following and ignoring a document, with the share of resamples in which a technique is not beaten."""

import numpy as np
import pytest

from heval_core.evaluation.techniques.front import Point, on_the_front
from heval_core.records import CONTEXT_KINDS
from heval_core.statistics.values import Value
from heval_core.store.filters import Filter
from tests.techniques.planted import MEMORY, Answer, blind, perfect, plant, published


def point(name, faithfulness, robustness):
    return Point(name, *(Value(value=0.0, drawn=np.array(drawn)) for drawn in (faithfulness, robustness)), None)


def test_the_share_of_resamples_on_the_front_by_hand():
    nan = float("nan")
    points = [
        point("one", (0.5, 0.5, 0.2, nan), (0.5, 0.5, 0.2, 0.1)),
        point("better in one", (0.6, 0.5, 0.1, 1.0), (0.5, 0.5, 0.3, 1.0)),
        point("beaten", (0.4, 0.4, 0.0, 1.0), (0.5, 0.4, 0.0, 1.0)),
    ]
    # Of three resamples in which all have a point: one is beaten in the first, ties in the second, is better in the third.
    assert on_the_front(points) == pytest.approx([2 / 3, 1, 0])
    assert on_the_front([]) == []
    assert on_the_front([point("one", (nan,), (nan,))]) == [None]


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    techniques = {"regular": blind(0.5), "coiecd": blind(1), "acd": perfect, "cad": perfect}
    reader = published(plant(tmp_path_factory.mktemp("front"), techniques, test=40))
    return {row["technique"]: row for row in reader.rows("pareto", Filter()).to_dict("records")}


@pytest.mark.slow
def test_a_point_is_the_mean_of_gold_and_conflicting_against_irrelevant_and_what_dominates_is_always_on_the_front(points):
    named = ("context_faithfulness", "robustness", "discrimination")
    values = {technique: tuple(row[name] for name in named) for technique, row in points.items()}
    assert values == {"regular": (0.5, 0.5, 0), "coiecd": (1, 0, 0), "acd": (1, 1, 1), "cad": (1, 1, 1)}
    for row in points.values():
        assert row["n"] == 40
        for name, ends in zip(named, ("faithfulness", "robustness", "discrimination"), strict=True):
            assert row[f"{ends}_low"] <= row[name] <= row[f"{ends}_high"]
    shares = {technique: (row["on_front"], row["share_on_front"]) for technique, row in points.items()}
    assert shares == {"regular": (False, 0), "coiecd": (False, 0), "acd": (True, 1), "cad": (True, 1)}


def follows_gold(case):
    if case.regime == "conflicting":
        return Answer(MEMORY) if case.number < 15 else None
    return Answer(case.follows)


def no_gold(case):
    return None if case.regime == "gold" else Answer(MEMORY)


HALF = {"regular": blind(0.5)}


@pytest.mark.parametrize(("techniques", "regimes", "columns"), [
    # 20 of 20 gold documents are followed, 0 of 5 conflicting ones: both kinds count the same.
    ({"regular": follows_gold}, CONTEXT_KINDS, {"context_faithfulness": [0.5]}),
    # Blind techniques lie on the front together.
    (HALF | {"acd": blind(0.2)}, CONTEXT_KINDS, {"on_front": [True, True], "share_on_front": [1, 1]}),
    # The one kind that there is stands for faithfulness.
    (HALF, ("gold", "irrelevant"), {"context_faithfulness": [0.5], "discrimination": [None]}),
    (HALF, ("conflicting", "irrelevant"), {"context_faithfulness": [0.5], "discrimination": [0]}),
    # Without a kind that others have, or without irrelevant documents, there is no point.
    (HALF | {"acd": no_gold}, CONTEXT_KINDS, {"technique": ["regular"]}),
    (HALF, ("gold", "conflicting", "off_topic"), {"technique": []}),
])  # fmt: skip
def test_points_of_the_kinds_that_there_are(tmp_path, techniques, regimes, columns):
    found = published(plant(tmp_path, techniques, regimes=regimes)).rows("pareto", Filter())
    found = found.astype(object).where(found.notna(), None)
    assert {name: list(found[name]) for name in columns} == columns
