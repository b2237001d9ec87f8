"""What figures of citations are made of: names, colours, gaps and tones."""

import re

import numpy as np
import pandas as pd
import pytest

from heval_core.citations import mask
from heval_core.citations.records import CitedSentence, Claim, Explained, Passage, Recovery, StoredExplanation
from heval_core.figures.citation_claim import claim_drawing, masked, tone
from heval_core.figures.citations import answered, recovery_figure
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.palette import annotator_colour
from heval_core.present.drawing import Mark
from heval_core.present.names import Names
from heval_core.texts import markers
from tests.citations.published import ANNOTATORS
from tests.figures.test_palette import EYES, closest, contrast

NAMES = Names(annotators=tuple(ANNOTATORS))


def test_annotators_are_called_what_the_results_call_them():
    names = Names({("annotator", "nli"): {"title": "Entailment"}})
    said = {
        key: names.annotator(key) for key in ("nli", "explainer(loo)", "explainer(loo,model=org/reader)", "llm(model=org/big)")
    }
    assert list(said.values()) == ["Entailment", "Leave-one-out", "Leave-one-out: reader", "Language model: big"]
    assert [names.annotator(key) for key in ("person:ada", "random", "new")] == ["ada", "Random", "new"]
    assert names.title("claims", "politihop/test") == "politihop, test"


@pytest.mark.parametrize(
    ("sentence", "passage", "cited", "pieces"),
    [
        ("So it is [26, 34].", 26, [26, 34], ["So it is ", "[34]", "[ ? ]", "."]),
        ("So it is [1][2].", 2, [1, 2], ["So it is ", "[1]", "[ ? ]", "."]),
        ("So it is [1-3].", 2, [1, 2, 3], ["So it is ", "[1, 3]", "[ ? ]", "."]),
        ("So it is [1–5].", 3, [1, 2, 3, 4, 5], ["So it is ", "[1-2, 4-5]", "[ ? ]", "."]),
        ("So it is [1, 2 and 3].", 2, [1, 2, 3], ["So it is ", "[1 and 3]", "[ ? ]", "."]),
        ("So it is [1 & 2].", 1, [1, 2], ["So it is ", "[2]", "[ ? ]", "."]),
        ("So it is [2-4].", 9, [2, 3, 4], ["So it is ", "[2-4]", "."]),
        ("So it is [7-5] [5].", 5, [5], ["So it is [7-5] ", "[ ? ]", "."]),
        ("It was [sic] said in [2019].", 3, [], ["It was [sic] said in [2019]."]),
        ("A [1] in the middle, and no other.", 4, [1], ["A ", "[1]", " in the middle, and no other."]),
        ("Its marker is of another kind (3).", 3, [3], ["Its marker is of another kind (3).", "[ ? ]"]),
    ],
)
def test_the_masked_marker_is_a_gap(sentence, passage, cited, pieces):
    assert [text for _, text in masked(sentence, passage, cited)] == pieces


@pytest.mark.parametrize("sentence", ["a [1-3] b [2]", "[1, 2 and 3]", "[1; 2][2] & [2-4]", "none [4-2]", "[٢, 3]"])
def test_a_gap_stands_where_masking_takes_a_number_out(sentence):
    """Against what annotators are given: without its gaps, and white space aside, it is the same text."""
    cited = markers.read(sentence)[1]
    for passage in (1, 2, 3, 4):
        parts = masked(sentence, passage, cited)
        assert any(kind == "gap" for kind, _ in parts) == (passage in cited)
        left = "".join(text for kind, text in parts if kind != "gap")
        expected = mask([sentence], passage)[0][0]
        assert re.sub(r"[\s&,]", "", left) == re.sub(r"[\s&,]", "", expected)


@pytest.mark.parametrize("interval", [(0.7, 0.8), (np.nan, np.nan)], ids=["interval", "none"])
@pytest.mark.parametrize("annotator", ["nli", "random"])
def test_the_number_beside_a_dot_is_its_own(annotator, interval):
    """Not its chance level, which its tooltip says last where there is no interval; and a long one stands beyond its line."""
    row = {"measure": "f1", "annotator": annotator, "writer": "w", "masking": "full", "value": 0.75, "chance": 0.3}
    row |= {"low": interval[0], "high": interval[1], "n": 40, "claims": 40, "unavailable": None}
    cells = pd.DataFrame([row, row | {"masking": "sample", "value": 0.5, "low": np.nan, "high": np.nan}])
    for beside, expected, anchor, nearest in (("", "0.75", "start", 0.75), ("sample", "0.75 · 0.50", "end", 0.3)):
        figure = recovery_figure(cells, "f1", ["w"], NAMES, "full", beside)
        (text,) = [mark for mark in as_drawing(figure).marks if isinstance(mark, Mark) and mark.text == expected]
        (panel,) = figure.panels
        assert (panel.slots[0].text, text.anchor) == (expected, anchor)
        ends = [mark.x for mark in as_drawing(figure).marks if isinstance(mark, Mark) and mark.text in (".6", ".8")]
        nearest = interval[1] if interval[1] == 0.8 and not beside else nearest
        assert text.x == pytest.approx(ends[0] + (nearest - 0.6) / 0.2 * (ends[1] - ends[0]), abs=4.1)


def test_sentences_that_say_the_same_one_after_another_are_one_line_with_their_number():
    texts = (("A.", ()), ("B. [1]", (1,)), ("B.", ()), ("B.", ()), ("C.", ()))
    sentences = tuple(CitedSentence(text, text, cited) for text, cited in texts)
    explained = Explained(Claim("c", "", "", (Passage(1, "p"),)), "w", "s", (1,), sentences)
    answer = Recovery(1, "nli", (1,), (1,), 1.0, 1.0, 1.0, 1.0)
    data = claim_drawing(StoredExplanation("e", explained, 1), [answer], 1, NAMES, ["nli"])
    assert [line["number"] for line in data["sentences"]] == ["1", "2", "3–4", "5"]
    assert data["sentences"][2]["pieces"] == [("", "B."), ("", " × 2")]
    assert [cell["state"] for cell in data["annotators"][0]["cells"]] == ["none", "found", "none", "none"]


def test_all_readers_have_one_chance_where_random_answered():
    rows = [("w", "nli", 0.01), ("w", "random", 0.12), ("v", "nli", 0.02)]
    cells = pd.DataFrame(rows, columns=["writer", "annotator", "chance"]).assign(measure="f1", masking="full")
    assert list(answered(cells, "f1", ["full"])["chance"]) == [0.12, 0.12, 0.02]


def test_a_verdicts_tone():
    tones = {
        "good": ("SUPPORTS", "true", "Correct", "yes", "entailment"),
        "bad": ("Refuted", "pants-fire", "unsupported", "Not supported", "no", "untrue", "not true", "incorrect", "FALSE"),
        "": ("Not enough information", "half-true", "barely-true", "mostly false", "partially supported", "?", "", "notable"),
    }  # fmt: skip
    assert {verdict: tone(verdict) for own in tones.values() for verdict in own} == {
        v: t for t, own in tones.items() for v in own
    }


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])
def test_annotators_are_told_apart_by_colour(eyes, dark):
    keys = [
        "people", "llm(model=large)", "llm(model=small)", "nli", *(key for key in ANNOTATORS if key.startswith("explainer")),
    ]  # fmt: skip
    named = [annotator_colour(key, NAMES) for key in keys]
    colours = [re.findall(r"#\w{6}", colour)[dark if "light-dark" in colour else 0] for colour in named]
    assert closest(colours, eyes) >= 9
    own = [colour for key, colour in zip(keys, colours, strict=True) if not key.startswith("explainer")]
    assert min(contrast(colour, ("#FFFFFF", "#14171C")[dark]) for colour in own) >= 3
