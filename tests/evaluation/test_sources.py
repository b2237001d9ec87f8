"""Planted sources: what rules get that know only the order of the prompt, and who knows the source; stored and live."""

import json

import numpy as np
import pytest

from heval_core.evaluation.board.hard import ALL, hard_board
from heval_core.evaluation.cells import cells_of
from heval_core.plugins import catalogue
from heval_core.store.filters import Filter
from tests.planted import plant, published

COUNT, OSLO, KENYA = 160, " Oslo", " Kenya"
# Explainer ▶ which place it names.
KNOWS = {"fa": "first", "ig": "last", "attn": "source"}
KEY = ["explainer", "part"]


def kind_of(row):
    """A tenth each depends on either place, on none, on both; one in ten has no sources; the others depend on one."""
    return {0: "either", 1: "none", 2: "several", 3: "unavailable"}.get(row["place"] % 10, "one")


def source_of(row):
    """Which place is the source: the first of 40, the last of 56."""
    return int(row["place"] % 10 in (4, 5, 6) or row["place"] % 20 == 7)


def worded(row):
    return row["place"] % 3 == 0


def change(row):
    """Each document is a sentence with the answer; the question's word stands beside the source, or beside the other place."""
    tokens, starts = list(row["tokens"]), row["document_starts"]
    for number, (start, end) in enumerate(zip(starts, row["document_ends"], strict=True)):
        tokens[start : start + 3] = [" It", OSLO, KENYA if (number == source_of(row)) == worded(row) else " Peru"]
        tokens[end - 1] = "."
    asked = row["question_start"]
    tokens[asked:] = [KENYA, *[" which"] * (len(tokens) - asked - 1)]
    # A fifth of the answers are of no candidate.
    group = "other" if row["place"] % 5 == 4 else "C1" if row["place"] % 2 else "C2"
    texts = ["Bonn", "Rome", "word"] if group == "other" else ["Oslo", "Oslo", "word"]
    return row | {
        "tokens": tokens, "group": group, "candidate_texts": texts, "predicted_text": OSLO,
        "answer_tokens": [[start + 1] for start in starts],
    }  # fmt: skip


def sources(row):
    kind = kind_of(row)
    if kind == "unavailable":
        return [{"mention": 0, "unavailable": "no second answer"}]
    right = {"one": [source_of(row)], "several": [0, 1]}.get(kind, [])
    about = {"source": kind, "together": "stays" if kind == "none" else "follows", "fresh": ["Rome", "Bonn"]}
    return [
        about | {
            "mention": number, "document": number, "start": start + 1, "end": start + 2, "lost": 1.0,
            "outcomes": ["follows", "moves"] if number in right else ["stays", "stays"], "is_source": number in right,
            "route_changes": number == row["place"] % 2, "route_lost": route_lost(row, number),
        }
        for number, start in enumerate(row["document_starts"])
    ]  # fmt: skip


def route_lost(row, number):
    """The last token needs the first and the last place by turns; in one row of ten it needs neither."""
    return -1.0 - number if row["place"] % 10 == 9 else float(number == row["place"] % 2)


def draw(row, explainer, rng):
    scores = np.zeros(len(row["tokens"]))
    place = {"first": 0, "last": 1, "source": source_of(row)}[KNOWS[explainer]]
    scores[row["document_starts"][place] + 1] = 1.0
    return scores


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    plant(folder, draw, regimes=("mixed",), explainers=tuple(KNOWS), count=COUNT, change=change, sources=sources)
    return published(folder)


def values(reader, metric):
    return reader.cells(Filter(), metric, 0).set_index(KEY)["value"].unstack()


def test_a_rule_has_one_half_right_and_who_knows_the_source_has_both(reader):
    found = values(reader, "which_mention")
    columns = ["first", "last", "balanced", "worded", "unworded"]
    rows = {
        "fa": [1, 0, 0.5, 0.5, 0.5], "ig": [0, 1, 0.5, 0.5, 0.5], "attn": [1, 1, 1, 1, 1],
        "first_mention": [1, 0, 0.5, 0.5, 0.5], "last_mention": [0, 1, 0.5, 0.5, 0.5], "lexical": [0.5] * 5,
        # What a search finds, and what it is fooled by.
        "question_words": [np.nan, np.nan, np.nan, 1, 0],
    }  # fmt: skip
    for explainer, expected in rows.items():
        known = np.isfinite(expected)
        np.testing.assert_allclose(found.loc[explainer, columns][known], np.array(expected)[known], err_msg=explainer)


def test_the_last_token_reads_elsewhere(reader):
    found = values(reader, "route_mention")
    assert found.loc["fa"].to_dict() == {"first": 1, "last": 0, "balanced": 0.5}
    rows = reader.query("SELECT place FROM instance ORDER BY place")["place"]
    route = {row: row % 2 for row in rows if row % 10 not in (3, 9)}
    right = {end: [source_of({"place": row}) == own for row, own in route.items() if own == end] for end in (0, 1)}
    assert found.loc["attn", "balanced"] == pytest.approx(np.mean([np.mean(own) for own in right.values()]))


def test_what_depends_on_no_single_place_is_counted_and_in_no_part(reader):
    assert len(reader.rows("source")) == 2 * 144 + 16  # each once
    cells = reader.cells(Filter(), "which_mention", 0).set_index(KEY)
    details = json.loads(cells.loc[("fa", "balanced"), "details"])
    assert details == {"one": 96, "several": 16, "either": 16, "none": 16, "alone": 0, "middle": 0}
    assert json.loads(cells.loc[("fa", "balanced"), "group_sizes"]) == {"first": 40, "last": 56}
    both = [json.loads(cells.loc[("fa", part), "group_sizes"]) for part in ("worded", "unworded")]
    assert [sum(own.values()) for own in both] == [
        sum(own) for own in zip(*(own.values() for own in both), strict=True)
    ] or both
    assert sum(sum(own.values()) for own in both) == 96
    recall = reader.cells(Filter(), "source_recall", 0).set_index(KEY)
    assert set(recall["n"]) == {16}
    assert set(recall["unavailable"]) == {"group either has 16 of the 30 instances needed"}
    scores = reader.query("SELECT explainer, value FROM score WHERE metric = 'source_recall'").set_index("explainer")["value"]
    # One of the two is first; the other one of all that tie behind it.
    assert scores["fa"].between(0.5, 0.53).all()
    assert set(scores["lexical"]) == {1.0}


@pytest.mark.parametrize("metric", ["which_mention", "route_mention", "source_recall"])
def test_live_values_are_the_published_ones_and_a_filter_takes_its_instances(reader, metric):
    published_cells = reader.cells(Filter(), metric, 0).set_index(KEY).sort_index()
    live = cells_of(reader, Filter(), metric, 0).set_index(KEY).sort_index()
    for column in ("value", "low", "high", "chance", "n"):
        np.testing.assert_allclose(live[column].astype(float), published_cells[column].astype(float), err_msg=column)
    assert list(live["details"]) == list(published_cells["details"])
    chosen = Filter(relation=("relation 0", "relation 1", "relation 2", "relation 3"))
    some = cells_of(reader, chosen, metric, 0)
    counted = reader.query(
        "SELECT explainer, count(*) AS n, avg(value) AS value FROM score JOIN instance USING (instance_id) WHERE metric = ? "
        "AND part IN ('first', 'last', 'either') AND relation IN (SELECT unnest(?)) GROUP BY ALL",
        [metric, list(chosen.relation)],
    ).set_index("explainer")["n"]
    whole = some[some["part"].isin(["balanced", "either"])].set_index("explainer")["n"]
    assert whole.to_dict() == counted.to_dict()


def test_the_hard_board_has_the_numbers_of_a_single_cell_as_published(reader):
    found = hard_board(reader).rows.set_index(["column", "explainer", "model"])
    at = {"once": ("forced_choice", "balanced"), "worded": ("which_mention", "worded")}
    at |= {"unworded": ("which_mention", "unworded"), "route": ("route_mention", "balanced")}
    for column, (metric, part) in at.items():
        cells = reader.cells(Filter(), metric, 0)
        for explainer, cell in cells[cells["part"] == part].set_index("explainer").iterrows():
            for model in ("made-up-0", ALL):
                row = found.loc[(column, explainer, model)]
                ends = () if row["interval"] else ("low", "high")  # what is right by construction has none here
                for name in ("value", *ends, "chance", "n"):
                    assert row[name] == pytest.approx(cell[name], abs=1e-9), (column, explainer, name)
    assert hard_board(reader).ranking("worded").best == ("attn",)
    verified = reader.verified_sources(Filter()).iloc[0]
    # Of nine in ten whose sources were measured; the group is by turns, whatever the source.
    asked = ({"place": number} for number in range(COUNT) if number % 5 != 4)
    rows = [row for row in asked if kind_of(row) != "unavailable"]
    right = [row for row in rows if kind_of(row) == "one" and source_of(row) == 1 - row["place"] % 2]
    assert (verified["n"], verified["verified"]) == (len(rows), len(right))


def test_each_metric_says_of_which_stored_values_its_means_are_made():
    for key, parts in {"which_mention": 5, "route_mention": 3, "source_recall": 1}.items():
        metric = catalogue.find("metric", key)
        named = ("first", "last", "balanced", "worded", "unworded", "either")
        assert sum(bool(metric.means(part, 2)) for part in named) == parts
        assert all(sum(mean.factor for mean in metric.means(part, 2)) in (0, 1) for part in named)
