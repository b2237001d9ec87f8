"""Lists of explanations against the answers themselves, and what annotators are called and how they look."""

from __future__ import annotations

import re

import pytest

from heval_core.figures.citation_names import CitationNames
from heval_core.store.citation_queries import CitationFilter
from tests.citations.published import ANNOTATORS, CONTROLS, DATA, SELECTOR, WRITERS, explanation_id, plant
from tests.test_palette import EYES, closest, contrast

NAMES = CitationNames(annotators=tuple(ANNOTATORS))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("citations"))


def test_lists_are_cut_as_their_names_say(store):
    every = store.explanation_ids(CitationFilter(DATA, SELECTOR))
    assert len(every) == 13 * 3

    def cut(**more):
        return set(store.explanation_ids(CitationFilter(DATA, SELECTOR, controls=CONTROLS, **more)))

    rows = {id: store.recoveries(id) for id in every}
    assert cut(only=("omitted",)) == {id for id, own in rows.items() if any(not row["gold"] for row in own)}
    assert cut(only=("unreadable",)) == {explanation_id("one", writer) for writer in WRITERS}
    assert cut(only=("unavailable",)) == {explanation_id("light-7", "padding")}
    assert cut(writers=("sloppy",)) == {id for id in every if store.explanation(id)["writer"] == "sloppy"}
    assert cut(search="TWO HUNDRED") == {explanation_id("many", writer) for writer in WRITERS}

    def disagree(own):
        choices = {}
        for row in own:
            if row["annotator"] not in CONTROLS:
                choices.setdefault(row["passage"], set()).add(tuple(row["predicted"]))
        return any(len(one) > 1 for one in choices.values())

    def wrong_marker(own):
        cited = {(row["passage"], place) for row in own for place in row["gold"]}
        for key in {row["annotator"] for row in own if row["annotator"].startswith("explainer(")}:
            rests = {(row["passage"], place) for row in own if row["annotator"] == key for place in row["predicted"]}
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


def test_annotators_are_called_what_the_results_call_them():
    rows = {
        ("annotator", key): {"title": title} for key, title in (("explainer", "What the model used"), ("nli", "Entailment"))
    }
    names = CitationNames(rows)
    said = {
        key: names.annotator(key) for key in ("nli", "explainer(loo)", "explainer(loo,model=org/reader)", "llm(model=org/big)")
    }
    assert list(said.values()) == ["Entailment", "Leave-one-out", "Leave-one-out: reader", "Language model: big"]
    assert [names.annotator(key) for key in ("person:ada", "random", "new", "new(model=x)")] == [
        "ada",
        "Random",
        "new",
        "new: x",
    ]
    assert names.named("claims", "politihop/test") == "politihop, test"


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])
def test_annotators_are_told_apart_by_colour(eyes, dark):
    keys = [
        "people",
        "llm(model=large)",
        "llm(model=small)",
        "nli",
        *(key for key in ANNOTATORS if key.startswith("explainer")),
    ]
    colours = [re.findall(r"#\w{6}", NAMES.colour(key))[dark if "light-dark" in NAMES.colour(key) else 0] for key in keys]
    assert closest(colours, eyes) >= 9
    own = [colour for key, colour in zip(keys, colours, strict=True) if not key.startswith("explainer")]
    assert min(contrast(colour, ("#FFFFFF", "#14171C")[dark]) for colour in own) >= 3
