"""What docs/metrics.md says of planted explainers and of the demo results is what comes out, and what must."""

from __future__ import annotations

import re

import pytest

from heval_core.evaluation.means import means_of, values_of
from heval_core.store.filters import Filter
from tests.metrics import tables

TEXT = tables.DOC.read_text(encoding="utf-8")


def assert_documented(name: str, values) -> None:
    rows = tables.between(TEXT, name)
    assert [row[0] for row in rows] == list(values)
    for row in rows:
        told = [[float(number) for number in re.findall(r"-?\d+\.\d+", cell)] for cell in row[1:]]
        for numbers, found in zip(told, values[row[0]].values(), strict=True):
            # Ranks of a bias have more digits than shares; nets of float32 differ a little between machines.
            assert numbers == pytest.approx(list(found), abs=0.02 + 1e-3 * abs(found[0]))


def holds(value) -> bool:
    return value[1] > 0


def at_chance(value) -> bool:
    return value[1] - 0.03 <= 0 <= value[2] + 0.03


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dual"), [("planted, one document", False), ("planted, two documents", True)])
def test_each_metric_says_of_each_planted_explainer_exactly_what_it_knows(name, dual):
    found = tables.planted_values(dual)
    assert_documented(name, found)
    token, document, group, random, early = found.values()
    # Who knows the answer's token finds it, always; who knows less does not.
    assert token["MRR"][0] == pytest.approx(1)
    assert document["MRR"][0] < 0.2
    assert all(at_chance(own["MRR"]) for own in (group, random, early))
    # Who knows the document sets it apart by rank; who knows only the group cannot.
    for margin in (name for name in document if name.startswith("group margin")):
        assert holds(document[margin])
        assert all(at_chance(own[margin]) for own in (group, random, early))
    # Scores that tell the group tell it to whoever learns to read them, whatever their order.
    assert all(own[metric][0] > 0.8 for own in (token, document, group) for metric in tables.TOLD)
    assert all(at_chance(own[metric]) for own in (random, early) for metric in tables.TOLD)
    # Asked straight, whoever knows the token or the document names it; whoever knows less does not.
    (straight,) = {"AUROC", "forced choice"} & set(document)
    assert all(holds(own[straight]) for own in (token, document))
    assert all(at_chance(own[straight]) for own in (group, random, early))
    if dual:
        assert document["forced choice"][0] == pytest.approx(1)
        assert document["instance margin"][0] > 0.6
        assert all(at_chance(own["instance margin"]) for own in (group, random, early))
        assert early["position bias"][1] > 20  # only who prefers early tokens is biased
        assert all(own["position bias"][1] < 0 < own["position bias"][2] for own in (token, document, group, random))


METHODS, CONTROLS = ("fa", "ig", "mechlight", "attn"), ("lexical", "position", "random")


@pytest.fixture(scope="module")
def normalised(demo_reader):
    """Explainer ▶ mean over the demo models' cells of a part of a metric, and its interval; 0 at chance, 1 at best."""

    def read(metric, part, k=5):
        values = values_of(demo_reader, Filter(), metric, k, (part,))
        values = values[values["explainer"].isin([*METHODS, *CONTROLS])]
        found = means_of(values, (part,), ("part",), CONTROLS).set_index("explainer")
        ends = found[["normalised", "normalised_low", "normalised_high"]]
        return {key: tuple(ends.loc[key]) for key in (*METHODS, *CONTROLS)}

    return read


@pytest.mark.slow
def test_what_must_come_out_of_the_demo_results(normalised):
    margins, forced = normalised("instance_rank_margin", "balanced"), normalised("forced_choice", "balanced", 0)
    # Their rank margins are far apart, and yet all of them name the used document.
    assert all(forced[key][0] > 0.9 for key in ("fa", "ig", "mechlight", "lexical"))
    # ig and then fa are ahead of all others, interval against interval, where documents are told apart.
    assert margins["ig"][1] > margins["fa"][2]
    assert all(margins["fa"][1] > own[2] for key, own in margins.items() if key not in ("fa", "ig"))
    # Pointing at the answer's own token is worth less than any method; pointing at later tokens is no skill.
    assert all(margins[key][1] > margins["lexical"][2] for key in METHODS)
    assert abs(margins["position"][0]) < 0.01
    others = [normalised("mrr", part, 0) for part in ("C", "balanced")]
    others += [normalised("hit_at_k", part) for part in ("C", "balanced")]
    others += [normalised("group_rank_margin", part) for part in ("c", "c1", "c2")]
    for found in (margins, forced, normalised("auroc", "c", 0), *others):
        assert all(found[key][1] > 0 for key in METHODS)
        assert abs(found["random"][0]) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "part"), [("nmutinf", "raw"), ("probe", "information")])
def test_a_string_match_knows_the_group_only_by_the_token_that_it_is_given(normalised, metric, part):
    """With the answer given as its target it tells the group nearly always; with one target for both groups it cannot."""
    assert normalised(metric, part)["lexical"][1] > 0.7
    assert abs(normalised(metric, f"{part}_context")["lexical"][0]) < 0.1
