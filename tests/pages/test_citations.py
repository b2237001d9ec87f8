"""The page Citations on a planted file: both views, its numbers against the table's, its lists, and hostile text."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from heval_core.figures.citation_claim import MISSED, NONE, RIGHT, UNKNOWN, WRONG, claim_drawing, first_passage
from heval_core.figures.citations import (
    alphas_table,
    answer,
    answered,
    explainers_figure,
    explanations_table,
    recovery_figure,
    recovery_table,
)
from heval_core.present.names import Names
from heval_core.present.numbers import number
from heval_core.records.vocabulary import OF_EXPLAINERS
from heval_core.store.citation_queries import ONLY, CitationFilter
from tests.citations.published import ANNOTATORS, CONTROLS, DATA, SELECTOR, WRITERS, explanation_id, plant
from tests.pages.opening import address_of, open_page, open_well, text_of

NAMES = Names(annotators=tuple(ANNOTATORS))

pytestmark = pytest.mark.usefixtures("own_store")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("citations"))


def test_the_first_claim_is_one_that_a_person_can_read(store):
    chosen = CitationFilter(DATA, SELECTOR)
    shown = store.explanation(store.readable_explanation(chosen)).explained
    sentences = [one.bare for one in shown.sentences]
    assert 2 <= len(sentences) <= 10
    assert len({*sentences}) == len(sentences)
    assert not shown.problems
    earlier = store.explanation_ids(chosen)[: store.explanation_ids(chosen).index(store.readable_explanation(chosen))]
    for one in map(store.explanation, earlier):
        own = [sentence.bare for sentence in one.explained.sentences]
        assert one.explained.problems or not 2 <= len(own) <= 10 or len({*own}) < len(own)
    assert store.readable_explanation(CitationFilter(DATA, "nobody's")) is None


@pytest.fixture(scope="module")
def cells(store):
    return store.rows("cell_recovery", dataset=DATA, selector=SELECTOR)


def one(cells, **where):
    """The only row where columns have these values."""
    (row,) = cells[np.logical_and.reduce([cells[name] == value for name, value in where.items()])].to_dict("records")
    return row


def drawn(store, claim, writer, passage=None):
    explanation = store.explanation(explanation_id(claim, writer))
    recoveries = store.recoveries(explanation.id)
    passage = first_passage(explanation) if passage is None else passage
    return claim_drawing(explanation, recoveries, passage, NAMES, ANNOTATORS), recoveries, passage


def column(data, title):
    return next(one for one in data["annotators"] if one["name"] == title)


@pytest.mark.parametrize(
    "view",
    [
        {"measure": "recall", "masking": "sample"},
        {"measure": "transparent"},
        {"writer": "sloppy"},
        {"tab": "claim", "list": "open", "page": "3"},
        *({"tab": "claim", "only": name} for name in ONLY),
        {"tab": "claim", "find": "lighthouse"},
        *({"tab": "claim", "explanation": explanation_id(claim, "careful")} for claim in ("hostile", "one", "silent", "many")),
    ],
    ids=str,
)
def test_every_view_runs(view):
    open_well("citations", **view)


def test_the_answer_says_the_tables_numbers(cells):
    said = text_of(open_page("citations")).replace("\\", "")
    cells = answered(cells, "f1", ["full"])
    assert "Best reader: **Language model: large**" in said
    for writer in ("careful", "padding"):
        row = one(cells, annotator="llm(model=large)", masking="full", writer=writer, measure="f1")
        value = f"{number(row['value'])} [{number(row['low'])}, {number(row['high'])}] (guessing {number(row['chance'])})"
        assert f"n explanations by **{writer}**: F1 {value}" in said


def test_an_answer_no_better_than_chance_is_called_so(cells):
    low = answered(cells.assign(chance=cells["chance"].fillna(1.0)), "f1", ["full"])["chance"].reindex(cells.index) - 0.01
    none = answer(cells.assign(low=low), "f1", "full", tuple(WRITERS), NAMES)
    assert (none.count("** is no better than guessing ("), "eader: **" in none) == (len(WRITERS), False)
    # Where writers have readers of their own, each number stands beside whose it is.
    other = cells["annotator"].eq("nli") & cells["writer"].eq("padding")
    apart = cells.assign(**{name: cells[name].mask(other, 1.0) for name in ("value", "low", "high")}).drop(columns="exceeds")
    assert "by **Entailment model**" in answer(apart, "f1", "full", tuple(WRITERS), NAMES)
    guessed = cells["annotator"] == "random"
    over = cells.assign(**{name: cells[name].mask(guessed, 1.0) for name in ("value", "low", "high")}).drop(columns="exceeds")
    text = answer(over, "f1", "full", ("careful",), NAMES)
    assert text.startswith("On explanations by **careful**: no reader does better than the control Random (1.00); the highest")
    # The control is above both: what the explainer is compared with is said.
    assert re.search(r"; but the explainer .* (does better than|is not told apart from) that reader \(", text)
    one_low = cells.assign(low=cells["low"].where(cells["writer"] != "padding", low))
    assert answer(one_low, "f1", "full", tuple(WRITERS), NAMES).count("no better than guessing") == 1
    assert "no better" not in answer(cells, "f1", "full", tuple(WRITERS), NAMES)
    assert "nothing can be said" in answer(cells[cells["annotator"] == "random"], "f1", "full", tuple(WRITERS), NAMES)


def test_every_dot_is_where_the_table_says(cells):
    made = recovery_figure(cells, "f1", tuple(WRITERS), NAMES, "full")
    keys = NAMES.in_order(cells.query("annotator != ''")["annotator"])
    assert [row.title for row in made.rows] == [NAMES.annotator(key) for key in keys]
    assert [row.control for row in made.rows] == [key in CONTROLS for key in keys]
    own = answered(cells, "f1", ["full"]).set_index(["writer", "annotator"])
    for writer, panel in zip(WRITERS, made.panels, strict=True):
        for key, slot in zip(keys, panel.slots, strict=True):
            row = own.loc[(writer, key)]
            if pd.isna(row["value"]):
                assert slot.missing.title[2] == "people were asked about one passage of each explanation"
                continue
            (dot,) = slot.dots
            assert [dot.value, dot.low, dot.high, dot.chance] == [row[name] for name in ("value", "low", "high", "chance")]
            assert f"chance {number(row['chance'])}" in dot.title[1]
            assert slot.text == number(row["value"])


def test_the_explainers_four_numbers_and_why_one_has_none(cells):
    made = explainers_figure(cells, tuple(WRITERS), NAMES)
    assert [panel.title for panel in made.panels] == ["Supported", "Wrong marker", "Unsupported sentence", "Omitted citation"]
    titles = [row.title for row in made.rows]
    for panel, measure in zip(made.panels, OF_EXPLAINERS, strict=True):
        row = one(cells, writer="sloppy", annotator="explainer(loo)", measure=measure)
        assert panel.slots[titles.index("Leave-one-out, sloppy")].dots[0].value == row["value"]
        assert "attention" in panel.slots[titles.index("Attention, padding")].missing.title[2]


def test_the_truth_stands_below_the_explainers_where_it_is_known(cells):
    known = cells[cells["annotator"].eq("explainer(loo)") & cells["measure"].eq("supported")]
    truth = known.assign(annotator="", value=0.5, low=0.4, high=0.6, chance=None)
    made = explainers_figure(pd.concat([cells, truth]), ("careful", "sloppy"), NAMES)
    titles = [row.title for row in made.rows]
    assert titles[0] == "Leave-one-out, careful"
    assert [titles.index("The truth, careful"), titles.index("The truth, sloppy")] == [len(titles) // 2 - 1, len(titles) - 1]
    assert made.panels[0].slots[-1].dots[0].value == 0.5


def test_tables_hold_the_tables_numbers(store, cells):
    said = recovery_table(cells, "f1", "full", tuple(WRITERS), NAMES).frame().set_index("Annotator")
    own = answered(cells, "f1", ["full"]).dropna(subset=["value"])
    for row in own.to_dict("records"):
        title = NAMES.annotator(row["annotator"]) + (" (control)" if row["annotator"] in CONTROLS else "")
        ends = f"[{number(row['low'])}, {number(row['high'])}] chance {number(row['chance'])}"
        assert said.loc[title, row["writer"]] == f"{number(row['value'])} {ends}"
    agreements = store.rows("agreement", dataset=DATA, selector=SELECTOR, masking="full").query("writer == 'sloppy'")
    table = alphas_table(agreements, "sloppy", NAMES)
    written = [cell.whole for row in table.rows for cell in row.cells if cell.whole]
    for row in agreements.dropna(subset=["alpha"]).to_dict("records"):
        assert f"{number(row['alpha'])} [{number(row['low'])}, {number(row['high'])}]" in written
    assert all(cell.tint is None for place, row in enumerate(table.rows) for cell in row.cells[place + 1 :])
    assert "0.40 [0.30, 0.60]" in explanations_table(cells, tuple(WRITERS), NAMES).text()


def test_lists_are_cut_as_their_names_say(store):
    every = store.explanation_ids(CitationFilter(DATA, SELECTOR))
    assert len(every) == 13 * 3

    def cut(**more):
        return set(store.explanation_ids(CitationFilter(DATA, SELECTOR, controls=CONTROLS, **more)))

    rows = {id: store.recoveries(id) for id in every}
    assert cut(only=("omitted",)) == {id for id, own in rows.items() if any(not row.gold for row in own)}
    assert cut(only=("unreadable",)) == {explanation_id("one", writer) for writer in WRITERS}
    assert cut(only=("unavailable",)) == {explanation_id("light-7", "padding")}
    assert cut(writers=("sloppy",)) == {id for id in every if store.explanation(id).explained.writer == "sloppy"}
    assert cut(search="TWO HUNDRED") == {explanation_id("many", writer) for writer in WRITERS}

    def disagree(own):
        choices = {}
        for row in own:
            if row.annotator not in CONTROLS:
                choices.setdefault(row.passage, set()).add(row.predicted)
        return any(len(one) > 1 for one in choices.values())

    def wrong_marker(own):
        cited = {(row.passage, place) for row in own for place in row.gold}
        for key in {row.annotator for row in own if row.annotator.startswith("explainer(")}:
            rests = {(row.passage, place) for row in own if row.annotator == key for place in row.predicted}
            for place in {place for _, place in cited}:
                of = {passage for passage, other in rests if other == place}
                if of and not any((passage, place) in cited for passage in of):
                    return True
        return False

    assert cut(only=("disagree",)) == {id for id, own in rows.items() if disagree(own)}
    assert cut(only=("wrong_marker",)) == {id for id, own in rows.items() if wrong_marker(own)}
    assert 0 < len(cut(only=("wrong_marker",))) < 39
    assert explanation_id("light-0", "careful") in cut(only=("disagree",))
    assert explanation_id("light-1", "careful") not in cut(only=("disagree",))


@pytest.mark.parametrize("claim", ["finland", "hostile", "many", "light-3"])
def test_every_mark_is_what_the_answer_and_the_citations_make_it(store, claim):
    data, rows, passage = drawn(store, claim, "sloppy")
    for row in rows:
        if row.passage != passage or row.annotator.startswith("person:"):
            continue
        own = column(data, NAMES.annotator(row.annotator))
        for place, mark in enumerate(own["cells"]):
            yes, should = place in row.predicted, place in row.gold
            assert mark["state"] == {(True, True): RIGHT, (True, False): WRONG, (False, True): MISSED}.get((yes, should), NONE)
            assert data["sentences"][place]["gold"] == should
            if row.scores:
                assert f"score {number(row.scores[place])}" in mark["about"]
        assert (own["text"], own["chance"]) == (number(row.f1), number(row.chance))
    json.dumps(data)


def test_people_stand_together_and_are_counted(store):
    data, rows, passage = drawn(store, "finland", "padding")
    asked = [row for row in rows if row.passage == passage and row.annotator.startswith("person:")]
    people = column(data, "People")
    assert people["title"] == "People (2)"
    assert [mark["votes"] for mark in people["cells"]] == [sum(n in row.predicted for row in asked) for n in range(5)]
    assert people["f1"] == pytest.approx(np.mean([row.f1 for row in asked]))
    assert not any(own["name"] in ("ada", "ben") for own in data["annotators"])


def test_explainers_say_which_passage_weighs_most(store):
    data, rows, passage = drawn(store, "finland", "careful")
    own = {row.passage: row.scores for row in rows if row.annotator == "explainer(gradient)"}
    top = max(abs(max(scores)) for scores in zip(*own.values(), strict=True))
    for place, mark in enumerate(column(data, "Gradient")["cells"]):
        best = max(own, key=lambda number: own[number][place])
        beside = f"[{best}] weighs most here: {number(own[best][place])}"
        assert ("of all passages this one weighs most" if best == passage else beside) in mark["about"]
        assert mark["weight"] == pytest.approx(own[passage][place] / top, abs=1e-3)


def test_an_unreadable_answer_and_one_that_was_not_asked_for_say_so(store):
    data, _, _ = drawn(store, "one", "careful")
    own = column(data, "Language model: small")
    assert own["problem"] == "answered “perhaps”, twice"
    assert {mark["state"] for mark in own["cells"]} == {UNKNOWN}
    assert any("could not be read (answered “perhaps”, twice)" in note for note in data["notes"])
    data, _, _ = drawn(store, "many", "careful", passage=190)
    unasked = {"state": UNKNOWN, "about": ["not asked about this passage"]}
    assert all(mark == unasked for own in data["annotators"] for mark in own["cells"])


def test_an_omitted_citation_and_an_explanation_that_cites_nothing(store):
    data, _, _ = drawn(store, "finland", "careful", passage=5)
    said = "".join(text for _, text in data["lead"])
    silent = [
        own["name"]
        for own in data["annotators"]
        if own["f1"] is not None and not own["control"] and {cell["state"] for cell in own["cells"]} == {NONE}
    ]
    assert said.startswith("No sentence cites passage [5], though the writer was given it. ")
    assert all(name in said for name in silent)
    data, _, passage = drawn(store, "silent", "careful")
    assert passage == 1
    assert "Of this explanation: no citation at all." in data["notes"]
    data, _, _ = drawn(store, "light-7", "padding")
    assert data["lead"] == [("", "There is no explanation: the server refused.")]
    assert data["sentences"] == []


def test_what_a_link_asks_for_and_is_not_there_is_refused():
    assert "passage 9" in open_page("citations", tab="claim", passage="9").error[0].value
    assert "explanation nobody" in open_page("citations", tab="claim", explanation="nobody").error[0].value
    assert "writer nobody" in open_page("citations", writer="nobody").error[0].value
    assert "The link asks for the mark" in open_page("citations", point=["careful", "nobody"]).error[0].value


def test_steps_keep_the_filters_and_let_go_of_the_passage():
    app = open_page("citations", tab="claim", writer="sloppy", passage="2")
    app.button(key="next").click().run()
    assert address_of(app)["explanation"] == [explanation_id("hostile", "sloppy")]
    assert "passage" not in app.query_params
    assert not app.error
    assert "**2** of 13" in text_of(app)


def test_a_picked_mark_leads_to_its_claims(cells):
    app = open_page("citations", point=["padding", "nli"])
    row = one(cells, annotator="nli", writer="padding", measure="f1", masking="full")
    value = f"{number(row['value'])} [{number(row['low'])}, {number(row['high'])}], chance {number(row['chance'])}"
    assert value in text_of(app).replace("\\", "")
    button = app.button(key="claims_of_mark")
    assert button.label == "The 13 claims of padding"
    assert not button.click().run().exception
    assert "**1** of 13" in text_of(app)
    assert address_of(app).items() >= {"tab": ["claim"], "writer": ["padding"]}.items()
