"""The page Techniques on a planted store: whom it recommends, what a link picks, and hostile text."""

import json

import pytest

from heval_core.evaluation.techniques.front import expected, points
from heval_core.figures.technique_front import techniques_verdict
from heval_core.present.names import names_of
from heval_core.records import FOLLOWED
from heval_core.store.filters import Filter
from heval_core.ui.instance_tables import steps_of
from tests.pages.opening import address_of, html_of, links_of, open_page, open_well, text_of, unfolded
from tests.techniques.planted import MEMORY, Answer, perfect, plant, published

HOSTILE = "<b>no</b> $x$ [a](b)"

pytestmark = pytest.mark.usefixtures("own_store")


def regular(case):
    """Follows every second document; so it is blind to relevance."""
    return Answer(case.follows if case.number % 2 or case.regime == "gold" else MEMORY)


def obedient(case):
    """Follows every document."""
    return Answer(case.follows, alone=MEMORY)


def searched(setting, chosen, tied, bcu):
    row = {"technique": "coiecd", "setting": json.dumps(setting), "chosen": chosen, "tied": tied, "unavailable": None}
    return [row | {"regime": kind, "bcu": bcu if kind in FOLLOWED else 1 - bcu, "n": 10} for kind in ("gold", "irrelevant")]


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A function: plants a store, which pages show then; its reader."""
    monkeypatch.setenv("HEVAL_STORE", str(tmp_path))
    return lambda asked, **how: published(plant(tmp_path, asked, **how))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    trials = [*searched({"lam": 0.5, "alpha": 1.0}, True, True, 0.8), *searched({"lam": 1.0, "alpha": 1.0}, False, True, 0.8)]
    trials.append({"technique": "multi_agent", "setting": None, "regime": None, "bcu": None, "n": None, "chosen": None,
                   "tied": None, "unavailable": HOSTILE})  # fmt: skip
    folder = tmp_path_factory.mktemp("techniques")
    plant(folder, {"regular": regular, "cad": obedient, "coiecd": perfect}, trials=trials, test=40, models=("one", "two"))
    return published(folder)


def test_the_page_recommends_by_what_the_documents_are_like_and_by_what_can_be_paid(store, figures):
    def first(**query):
        app = open_well("techniques", model="two", **query)
        return text_of(app), [spot.id[0] for spot in figures["technique_marks"][0][0].spots if spot.id]

    assert first()[1] == ["coiecd", "cad", "regular"]
    assert first(right="10")[1] == ["coiecd", "regular", "cad"]
    said, order = first(pay="1")
    assert order == ["regular", "coiecd", "cad"]
    assert "Highest: **Regular** everywhere" in said
    assert "Only Regular costs so little: 69 of 100" in said.replace("*", "")
    assert "COIECD tells irrelevant documents from right ones best: J 1.00" in said.replace("\\", "")


def test_the_answer_says_who_is_ahead_of_regular_and_keeps_it_where_none_is(store):

    def told(share, *techniques):
        own = [one for one in points(store, "two", "made-up-data") if one.technique in techniques]
        return techniques_verdict(expected(own, share), names_of(store)).replace("*", "").replace("\\", "")

    assert told(0.5, "regular", "coiecd").startswith("Use COIECD: 100 of 100")
    assert told(0.5, "regular", "coiecd").endswith("ahead of all others at this price.")
    # Who follows every document is far behind where nearly all are irrelevant, and not told apart where two of three are not.
    assert told(0.1, "regular", "cad").startswith("Keep Regular: ")
    assert told(2 / 3, "regular", "cad").startswith(
        "No technique is shown to be better than Regular at this price. Highest is "
    )
    assert told(0.5) == "No technique costs so little."
    # Ahead of Regular, but not the highest, from which neither is told apart.
    cards = expected(points(store, "two", "made-up-data"), 0.5)
    assert [card.exceeds for card in cards] == [("cad", "regular"), ("cad",), ()]
    high, regular, cad = (card._replace(best=True, exceeds=()) for card in cards)
    sentence = techniques_verdict([high, cad._replace(exceeds=("regular",)), regular], names_of(store))
    assert sentence.startswith("CAD is better than Regular at this price. Highest is **COIECD**")


def test_the_points_are_those_that_are_published(store):
    published = store.rows("pareto", Filter(("one",))).set_index("technique")
    found = {point.technique: point for point in points(store, "one", "made-up-data")}
    assert found.keys() == set(published.index)
    for key, point in found.items():
        for value, name, ends in (
            (point.faithfulness, "context_faithfulness", "faithfulness"),
            (point.robustness, *["robustness"] * 2),
        ):
            own = (value.value, *value.interval())
            assert own == pytest.approx(tuple(published.loc[key, [name, f"{ends}_low", f"{ends}_high"]]), abs=1e-12)


def test_the_slider_moves_the_address_and_a_wrong_number_is_refused():
    app = open_page("techniques")
    app.slider(key="right").set_value(20).run()
    assert address_of(app)["right"] == ["20"]
    assert "Highest: " in text_of(app)
    assert "it should be a whole number" in open_page("techniques", right="many").error[0].value
    assert "pay" in open_page("techniques", pay="8").error[0].value


def test_reasons_are_text():
    said = text_of(open_page("techniques"))
    assert r"&lt;b&gt;no&lt;/b&gt; \$x\$ \[a\]\(b\)" in said
    assert HOSTILE not in said


@pytest.mark.parametrize(("kind", "answers"), [("conflicting", 40), ("*", 120)])
def test_a_picked_mark_leads_to_exactly_the_answers_that_it_counted(store, kind, answers):
    app = open_well("techniques", point=["cad", kind])
    links = {label: asked for label, asked in links_of(app).items() if asked.get("technique") == ["cad"]}
    assert list(links)[0] == f"Its {answers} answers"
    for label, asked in links.items():
        wanted = Filter(("one",), ("made-up-data",), tuple(asked["regime"]), technique=("cad",), changed=asked["changed"][0])
        assert len(store.instance_ids(wanted)) == int(label.removeprefix("Its ").split()[0])
    counted = store.technique_cells(Filter(("one",), technique=("cad",)))
    counted = counted[(counted["measure"] == "bcu") & counted["regime"].isin(wanted.regime)]
    assert int(counted["n"].sum()) == answers
    listed = open_well("instances", **links[f"Its {answers} answers"])
    assert f"of {answers:,}" in text_of(listed)


def test_answers_that_are_counted_and_not_listed_are_told(planted):
    def capped(case):
        return Answer(case.right, change={"dropped_because": "not sampled"} if case.number == 12 else {})

    planted({"regular": capped, "cad": capped})
    app = open_page("techniques", point=["cad", "gold"])
    assert "1 more answers are counted and not listed" in text_of(app).replace("\\", "")
    assert "Its 19 answers" in links_of(app)


@pytest.mark.parametrize("point", [["nobody", "gold"], ["cad", "mixed"], ["cad"]])
def test_a_mark_that_is_not_there_is_refused(point):
    app = open_page("techniques", point=point)
    assert "The link asks for the mark" in app.error[0].value


def test_what_stands_below_is_folded_and_has_its_numbers():
    shut = text_of(open_page("techniques", model="two"))
    assert "how far" not in shut
    app = unfolded(open_page("techniques", model="two", measure="ccu"), "technique_numbers")
    assert "**CCU**: how far" in text_of(app).replace("\\", "")


@pytest.mark.parametrize("measure", ["ccu", "accuracy", "memory_kept", "neither", "bcu_unknown"])
def test_every_measure_is_shown(measure):
    app = unfolded(open_well("techniques", measure=measure), "technique_numbers")
    assert not app.error
    assert "Regular" in html_of(app)


def test_two_techniques_without_irrelevant_documents_are_no_trade_off(planted):
    planted({"regular": regular, "cad": obedient}, regimes=("gold", "conflicting"), test=4)
    said = text_of(open_page("techniques"))
    assert "No technique was asked with relevant and with irrelevant documents here" in said


def test_an_instance_shows_its_answers_under_every_technique(store):
    instance = store.instance_ids(Filter(("one",), regime=("conflicting",), technique=("cad",)))[20]
    app = open_well("instances", instance=instance, technique="cad")
    strip = {one.label for one in app.button if str(one.key).startswith("under_")}
    assert strip == {"Regular: **Oslo** ✗", "CAD: **Rome** ✓", "COIECD: **Rome** ✓"}
    next(one for one in app.button if one.label.startswith("COIECD")).click().run()
    assert address_of(app)["technique"] == ["coiecd"]
    assert not app.error


def test_an_instance_that_was_answered_without_its_document_says_so(planted):
    gone = dict.fromkeys(("document_starts", "document_ends", "answer_tokens", "first_mention"), [])
    asked = {"regular": regular, "multi_agent": lambda case: Answer(MEMORY, change=gone)}
    reader = planted(asked, regimes=("conflicting",), test=2)
    app = open_well("instances", instance=reader.instance_ids(Filter(technique=("multi_agent",)))[0], technique="multi_agent")
    assert "answered without the document" in text_of(app)


def test_instances_can_be_cut_to_those_whose_bcu_changed(store):
    app = open_well("instances", technique="cad", changed="gained")
    left = len(store.instance_ids(Filter(technique=("cad",), changed="gained")))
    assert 0 < left < len(store.instance_ids(Filter(technique=("cad",))))
    assert f"of {left:,}" in text_of(app)
    assert "change of BCU none" in open_page("instances", technique="cad", changed="none").error[0].value


def test_a_trace_is_told_line_by_line_and_what_is_no_json_is_left_as_it_is():
    assert steps_of('[{"agent": "relevance", "reply": "<b>yes</b>"}, "x"]') == ["agent: relevance\nreply: <b>yes</b>", "x"]
    assert steps_of("not JSON") == ["not JSON"]
