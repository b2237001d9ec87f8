"""The Overview: which prompt it shows and why, what its cards and dots say, and that its doors open the lists they promise."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.means import leaderboard, places
from heval_core.figures import cards
from heval_core.figures.cards import NEAR, RIGHT, UNKNOWN, WRONG, card
from heval_core.figures.dots_drawn import Part, as_html
from heval_core.figures.questions import headline_figure, standings
from heval_core.records import Candidate, Span
from heval_core.store.filters import Filter
from heval_core.stored import PromptDocument, StoredInstance
from heval_core.ui import overview as page
from heval_core.ui import overview_scale
from heval_core.ui.overview import pair
from heval_core.ui.reading import Row
from tests.pages.opening import named, open_page
from tests.pages.test_taken_away import HOSTILE, a_hostile_instance

METHODS = ("fa", "ig", "attn", "mechlight")


def drawn(app) -> str:
    """All HTML of a page."""
    return "\n".join(element.proto.body for element in app.get("html"))


def links(body: str, kind: str) -> list[str]:
    return [html.unescape(link) for link in re.findall(rf'<a class="soft {kind}[^"]*"[^>]*? href="([^"]*)"', body)]


@pytest.fixture
def figures(monkeypatch):
    """The figures that the page draws: AppTest does not see them."""
    drawn = []
    monkeypatch.setattr(overview_scale, "draw_figures", lambda key, figure: drawn.append(figure))
    return drawn


def dots_of(figure):
    """(link, number) of each."""
    return [(dot.link, dot.value) for panel in figure.panels for slot in panel.slots for dot in slot.dots]


def asked_by(link: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(link).query)


def test_the_prompt_is_the_one_that_the_rule_asks_for(demo):
    """The rule, step by step and without its SQL."""
    found = demo.telling_instance(Filter(), METHODS, "fa")
    patterns = demo.query(
        "SELECT instance_id, explainer, pattern FROM pattern WHERE explainer IN ('fa', 'ig', 'attn', 'mechlight')"
    )
    kinds = patterns.groupby("instance_id")["pattern"].nunique()
    right = set(patterns[(patterns["explainer"] == "fa") & (patterns["pattern"] == "answer")]["instance_id"])
    ids = [one for one in demo.instance_ids(Filter(regime=("double_conflicting", "double_conflicting_swap"))) if one in right]
    telling = [one for one in ids if kinds[one] > 1]
    short = [one for one in telling if len(demo.instance(one).tokens) <= 60]
    most = [one for one in short if kinds[one] == kinds[short].max()]
    assert found == min(most, key=lambda one: len(demo.instance(one).tokens))
    shown = demo.instance(found)
    assert shown.documents[0].answer != shown.documents[1].answer
    assert found == demo.telling_instance(Filter(), METHODS, "fa")


@pytest.mark.parametrize(
    "chosen", [Filter(regime=("irrelevant",)), Filter(group=("M",)), Filter(model=("demo-gpt2",), relation=("capital",))]
)
def test_where_no_two_documents_disagree_there_is_still_a_prompt(demo, chosen):
    assert demo.telling_instance(chosen, METHODS, "fa") in demo.instance_ids(chosen)
    assert demo.telling_instance(chosen, ("unknown",), "unknown") in demo.instance_ids(chosen)
    assert demo.telling_instance(chosen, (), "") in demo.instance_ids(chosen)


def test_a_filter_that_leaves_nothing_has_no_prompt(demo):
    assert demo.telling_instance(Filter(relation=("none",)), METHODS, "fa") is None


def test_any_pattern_but_the_answer_can_be_asked_for(demo):
    wrong = set(
        demo.query(
            "SELECT instance_id FROM pattern JOIN instance USING (instance_id) "
            "WHERE explainer = 'mechlight' AND pattern <> 'answer' AND NOT contains(regime, '.')"
        )["instance_id"]
    )
    assert set(demo.instance_ids(Filter(best=("mechlight: not answer",)))) == wrong
    assert not wrong & set(demo.instance_ids(Filter(best=("mechlight: answer",))))
    assert "mechlight: not answer" in demo.best_tokens()


TOKENS = ("One", " says", " Rome", ".", " Two", " says", " Oslo", ".", " Q", ":")
DOCUMENTS = (PromptDocument(0, 4, "Rome", (2,), "conflicting"), PromptDocument(4, 8, "Oslo", (6,), "conflicting"))


def of_two(group: str = "C2") -> StoredInstance:
    return StoredInstance(
        instance_id="i", model="m", revision="r", dataset="d", regime="double_conflicting", technique="regular",
        subject="Mali", tokens=TOKENS, first_ranked=0, documents=DOCUMENTS, question_span=Span(8, 10), memory_answer="Bamako",
        candidates=(Candidate("C1", "Rome", 1, 0.0, 0.5),), predicted_text=" Oslo", predicted_probability=0.5, group=group,
    )  # fmt: skip


def said(scores: dict[int, float], group: str = "C2") -> tuple[str, str, str]:
    own = card(of_two(group), Row("fa", "Feature ablation", True, [scores.get(token, 0.0) for token in range(10)]))
    return own.verdict, own.points_at, own.place


def test_a_card_says_what_is_pointed_at_and_where_the_answer_stands():
    assert said({6: 2.0, 2: 1.0}) == (RIGHT, "points at the answer", "")
    assert said({5: 2.0, 6: 1.0}) == (NEAR, "nearly: points at “says”", "answer 2nd of 10")
    far = {token: 10.0 - token for token in range(10) if token != 6} | {6: -1.0}
    assert said(far) == (WRONG, "points at “One”", "answer 10th of 10")
    assert said({7: 3.0} | far | {7: 30.0})[1] == "points at a full stop"
    assert said({2: 2.0, 6: 1.0})[1] == "nearly: points at the other document’s answer, “Rome”"
    assert said({2: 2.0}, "M") == (UNKNOWN, "points at “Rome”", "")


def test_a_card_of_tied_or_missing_scores_claims_nothing():
    assert said({2: 1.0, 6: 1.0}) == (NEAR, "nearly: points at 2 tokens at once", "answer about 2nd of 10")
    verdict, points_at, place = said({})
    assert (verdict, points_at, place) == (WRONG, "points at 10 tokens at once", "answer about 6th of 10")
    missing = card(of_two(), Row("fa", "FA", True, [float("nan")] * 10))
    assert not any(piece.share or piece.first for part in missing.parts for piece in part.pieces)


def test_tints_are_shares_of_the_strongest_and_what_speaks_against_the_answer_has_none():
    own = card(of_two(), Row("fa", "FA", True, [0, 0, -9.0, 0, 0, 1.0, 2.0, 0.01, 0, 0]))
    marked = {piece.text: piece for part in own.parts for piece in part.pieces if piece.share or piece.answer}
    assert marked["Oslo"].share == 1.0
    assert marked["Oslo"].first
    assert marked["Oslo"].used
    assert marked["says"].share == 0.5
    assert marked["Rome"].share == 0
    assert marked["Rome"].answer
    assert not marked["Rome"].used
    assert [part.number for part in own.parts] == [1, 2, None]
    assert "".join(piece.text for part in own.parts for piece in part.pieces) == "".join(TOKENS)


def test_a_long_document_shows_what_is_near_the_answer_and_the_first_choice():
    tokens = (*(f" w{n}" for n in range(200)), " Rome", *(f" v{n}" for n in range(200)))
    long = replace(
        of_two("C"), tokens=tokens, documents=(PromptDocument(0, 401, "Rome", (200,)),), question_span=Span(401, 401)
    )
    scores = [0.0] * 401
    scores[350] = 1.0
    text = "".join(piece.text for part in card(long, Row("fa", "FA", True, scores)).parts for piece in part.pieces)
    assert "Rome" in text
    assert "v149" in text
    assert "…" in text
    assert len(text.split()) < 50


def test_hostile_text_is_text(demo):
    instance = a_hostile_instance()
    own = card(instance, Row("fa", "FA <i>", True, [0.1 * i for i in range(10)]))
    told = page.sentences(replace(instance, group="C"))
    body = cards.prompt("t", told, [(own, "x")])
    for forbidden in ("<script", "<img", "<iframe", "<s>", "<style"):
        assert forbidden not in body
    shown = html.unescape(re.sub("<[^>]*>", "", body))
    assert all(token.replace("\u202e", "⟲").replace("\x00", "␀") in shown for token in HOSTILE)


def test_four_explainers_get_a_card_and_the_best_is_one_of_them():
    assert page.with_cards(["attn", "fa", "mechlight", "ig"], ["mechlight", "fa"]) == ["mechlight", "fa", "ig", "attn"]
    many = [f"own{n}" for n in range(6)]
    assert page.with_cards([*METHODS, *many], ["own4"])[0] == "own4"
    assert len(page.with_cards([*METHODS, *many], ["own4"])) == 4
    assert page.with_cards(["own1"], []) == ["own1"]
    assert page.with_cards([], ["fa"]) == []


def a_headline(values: dict[tuple[str, str], float]) -> pd.DataFrame:
    rows = [
        {"question": question, "technique": "regular", "explainer": key, "metric": "mrr", "k": 0, "value": value, "low": value,
         "high": value, "chance": 0.0, "normalised": value, "normalised_low": value - 0.02, "normalised_high": value + 0.02,
         "cells": 2, "n": 60}
        for (question, key), value in values.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_dots_stand_where_their_values_are_and_what_is_missing_has_an_empty_ring():
    headline = a_headline({("RQ1", "fa"): 0.5, ("RQ3", "fa"): 0.4, ("RQ3", "ig"): 0.996, ("RQ3", "position"): -0.3})
    own = headline_figure(
        headline, named({"fa": "FA <b>"}, ("position",)), lambda question: f"?{question}", lambda *of: "/".join(of)
    )
    # Of the others one question is missing; of a question of which nothing is known there is no panel.
    assert [row.title for row in own.rows] == ["FA <b>", "ig", "position"]
    first, second = (panel.slots[0] for panel in own.panels)
    assert (first.dots[0].value, first.dots[0].low, first.text, first.best) == (0.5, pytest.approx(0.48), "0.50", False)
    assert own.panels[0].slots[1].missing.title[1].startswith("not available")
    assert second.dots[0].link == "fa/RQ3"
    assert [panel.link for panel in own.panels] == ["?RQ1", "?RQ3"]
    assert own.panels[1].slots[1].text == "1.00"
    assert own.panels[1].slots[2].text == "−0.30"
    body = as_html(Part(own))
    assert "<b>" not in body
    assert body.count('class="missing"') == 2
    assert body.count('<a class="mark soft"') == 2 + 4


def words(values: dict[tuple[str, str], float]) -> str:
    return overview_scale.sentence(a_headline(values), named({"fa": "Feature ablation", "ig": "IG"}))


def test_the_sentence_says_who_is_best():
    both = {(question, key): value for question in ("RQ1", "RQ2", "RQ3") for key, value in (("fa", 0.5), ("ig", 0.2))}
    assert words(both) == "**Feature ablation** is best at all three questions."
    assert words({("RQ1", "fa"): 0.5, ("RQ1", "ig"): -0.1, ("RQ3", "fa"): 0.60, ("RQ3", "ig"): 0.61}) == (
        "**Feature ablation** is best at telling context from memory. **IG** and **Feature ablation** are level at finding "
        "the token. **IG** does worse than guessing at telling context from memory."
    )
    assert words({("RQ1", "fa"): np.nan}).startswith("No question can be answered yet")


def test_explainers_are_in_the_order_of_their_means():
    found = standings(a_headline({("RQ1", "ig"): 0.1, ("RQ3", "ig"): 0.9, ("RQ1", "fa"): 0.4, ("RQ3", "fa"): 0.4}))
    assert list(found.index) == ["ig", "fa"]


def test_the_overview_says_what_it_is_about_from_the_data(demo, figures):
    app = open_page("overview")
    assert not app.exception
    body = drawn(app)
    assert body.count('<article class="o-card"') == 4
    of = Filter(
        ("demo-gpt2", "demo-qwen2"), ("world_capital",), tuple(places(demo, Filter())["regime"].unique()), explained=True
    )
    kept = f"{len(demo.instance_ids(of)):,} instances of two models and one dataset."
    assert any(kept in caption.value.replace("\\", "") for caption in app.caption)
    headline, dots = demo.headline(), dots_of(figures[-1])
    assert len(dots) == 3 * (4 + 5)  # methods and controls at three questions
    for row in headline[headline["explainer"] == "document"].itertuples():
        assert row.normalised in [value for _, value in dots]
    assert "None" not in body


def test_every_link_of_a_filtered_overview_keeps_the_filter(demo, figures):
    body = drawn(open_page("overview", model="demo-gpt2"))
    (figure,), dots = figures, dots_of(figures[-1])
    below = [html.unescape(link) for link in re.findall(r'class="soft[^"]*"[^>]*? href="([^"]*)"', body)]
    for link in (*below, *(link for link, _ in dots), *(panel.link for panel in figure.panels)):
        assert asked_by(link).get("model") == ["demo-gpt2"] or link == "your_prompt", link
    headline = leaderboard(demo, Filter(("demo-gpt2",)))
    assert headline["cells"].max() == 2
    wanted = headline[(headline["explainer"] == "origin") & (headline["question"] == "RQ3")]["normalised"].iloc[0]
    assert wanted in [value for _, value in dots]


def test_a_door_promises_as_many_instances_as_its_list_has(demo):
    body = drawn(open_page("overview", dataset="world_capital"))
    link = links(body, "o-door")[0]
    asked = asked_by(link)
    assert asked["best"] == ["ig: answer", "mechlight: not answer"]
    ids = demo.instance_ids(Filter(dataset=("world_capital",), best=tuple(asked["best"])))
    assert f"{len(ids):,} instances in which" in body
    app = open_page("instances", **asked)
    assert not app.exception
    assert not app.error
    assert any(text.value == f"**1** of {len(ids):,}" for text in app.markdown)


def test_the_suspect_is_another_one_than_the_best():
    assert pair(["fa", "ig", "mechlight", "attn"]) == ("fa", "mechlight")
    assert pair(["mechlight", "fa", "ig"]) == ("mechlight", "ig")
    assert pair(["a", "b"]) == ("a", "b")
    assert pair(["a"]) is None
