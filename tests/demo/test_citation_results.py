"""What must come out of the demo's study of citations, where every truth is planted."""

from __future__ import annotations

import pandas as pd
import pytest

from demo.claims import COUNT
from demo.hands import CAREFUL, HANDS, PADDING, SLOPPY

CLAIMS, SELECTOR = "demo-claims", "shipped"
NLI, LEXICAL = "nli(model=demo-nli)", "lexical"
LOO, CONTEXTCITE, GRADIENT, ATTENTION = (
    f"explainer({way},model=demo-writer)" for way in ("loo", "contextcite", "gradient", "attention")
)
BLIND = ("random", "position")
TOLD = ("supported", "wrong_marker", "unsupported_sentence", "omitted_citation")
THE_TRUTH = ""


@pytest.fixture(scope="module")
def cells(demo_reader) -> pd.DataFrame:
    """By annotator, writer and measure, of full masking."""
    found = demo_reader.rows("cell_recovery", dataset=CLAIMS, selector=SELECTOR)
    return found[found["masking"] == "full"].set_index(["annotator", "writer", "measure"]).sort_index()


def test_every_hand_is_asked_about_every_claim_and_everybody_answers(demo_reader, cells):
    choices = demo_reader.citation_choices()
    own = choices[choices["dataset"] == CLAIMS]
    assert own["writer"].tolist() == list(HANDS)
    assert own["claims"].tolist() == own["explanations"].tolist() == [COUNT] * 3
    asked = {annotator for annotator, _, _ in cells.index if annotator}
    assert asked == {NLI, LEXICAL, LOO, CONTEXTCITE, GRADIENT, ATTENTION, *BLIND}
    unreadable = cells.xs("unreadable", level="measure")["value"]
    assert len(unreadable) == 8 * 3
    assert not unreadable.any()


@pytest.mark.parametrize("annotator", [NLI, LEXICAL, LOO, CONTEXTCITE, GRADIENT, ATTENTION])
def test_recovered_citations_fall_from_careful_to_sloppy_to_padding(cells, annotator):
    careful, sloppy, padding = (cells.loc[annotator, hand, "f1"] for hand in HANDS)
    assert careful["value"] > sloppy["value"] > padding["value"]
    assert careful["low"] > sloppy["high"]
    # What padding cites is beside the point, so that nobody finds it more often than chance would.
    assert padding["low"] <= padding["chance"]
    assert careful["low"] > careful["chance"]


@pytest.mark.parametrize("annotator", [NLI, LEXICAL, LOO, CONTEXTCITE])
def test_transparent_explanations_fall_from_careful_to_sloppy_to_padding(cells, annotator):
    careful, sloppy, padding = (cells.loc[annotator, hand, "transparent"] for hand in HANDS)
    assert careful["low"] > sloppy["high"]
    assert sloppy["low"] > padding["high"]


@pytest.mark.parametrize("annotator", BLIND)
@pytest.mark.parametrize("hand", HANDS)
def test_controls_that_read_nothing_stay_at_their_chance(cells, annotator, hand):
    found = cells.loc[annotator, hand, "f1"]
    assert found["low"] <= found["chance"] <= found["high"]


@pytest.mark.parametrize("annotator", [LOO, CONTEXTCITE])
@pytest.mark.parametrize("hand", HANDS)
def test_explainers_find_what_a_sentence_was_copied_from_even_behind_a_wrong_marker(cells, annotator, hand):
    measures = ["source"] if hand == CAREFUL else ["source", "source_behind_wrong_marker"]
    for measure in measures:
        found = cells.loc[annotator, hand, measure]
        assert found["low"] >= 0.65 > 0.3 > found["chance"], measure
    if hand == PADDING:
        found = cells.loc[annotator, hand, "no_source"]
        assert found["low"] >= 0.9 > 0.75 > found["chance"]


@pytest.mark.parametrize("annotator", [GRADIENT, ATTENTION])
@pytest.mark.parametrize("hand", HANDS)
def test_gradient_and_attention_find_some_of_it(cells, annotator, hand):
    found = cells.loc[annotator, hand, "source"]
    assert found["low"] > 1.5 * found["chance"]


@pytest.mark.parametrize("annotator", [LOO, CONTEXTCITE])
@pytest.mark.parametrize("hand", HANDS)
def test_a_wrong_marker_an_unsupported_sentence_and_an_omitted_citation_are_told_apart(cells, annotator, hand):
    for measure in TOLD:
        truth, found = cells.loc[THE_TRUTH, hand, measure], cells.loc[annotator, hand, measure]
        assert found["value"] == pytest.approx(truth["value"], abs=0.3), measure
        assert found["low"] <= found["value"] <= found["high"]
    wrong = {one: cells.loc[annotator, one, "wrong_marker"] for one in HANDS}
    nothing = {one: cells.loc[annotator, one, "unsupported_sentence"] for one in HANDS}
    omitted = {one: cells.loc[annotator, one, "omitted_citation"] for one in HANDS}
    assert wrong[CAREFUL]["high"] < min(wrong[SLOPPY]["low"], wrong[PADDING]["low"])
    assert nothing[PADDING]["low"] > max(nothing[CAREFUL]["high"], nothing[SLOPPY]["high"])
    assert omitted[SLOPPY]["low"] > max(omitted[CAREFUL]["high"], omitted[PADDING]["high"])
