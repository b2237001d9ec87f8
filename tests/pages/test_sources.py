"""Where results have sources: Overview and Leaderboard show who names them; where they have none, all is as before."""

import re

import pytest

from heval_core.evaluation.board.exported import exported_hard
from heval_core.evaluation.board.hard import ALL, COLUMNS, hard_board
from heval_core.evaluation.board.hard_conclusion import NOTHING
from heval_core.present.names import names_of
from heval_core.report.sections import plans_of, section
from heval_core.store.filters import Filter
from heval_core.ui import sources as page
from tests.evaluation import test_sources as made_up
from tests.pages.opening import address_of, links_of, open_page, open_well, ran, text_of, unfolded
from tests.planted import plant, published


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    how = {"explainers": tuple(made_up.KNOWS), "count": made_up.COUNT, "change": made_up.change, "sources": made_up.sources}
    plant(folder, made_up.draw, regimes=("mixed",), **how)
    return published(folder)


def told(store):
    return page.sentence(hard_board(store), names_of(store))


def test_the_leaderboard_opens_on_the_source_with_sentence_figure_and_what_answers_depend_on(store, own_store, figures):
    app = open_well("leaderboard")
    assert app.title[0].value == "Which place did the answer depend on?"
    assert told(store) in text_of(app)
    assert "**Attention** finds the one that it depends on: 1.00" in told(store)
    ((figure,), picked) = figures["sources"]
    values = hard_board(store).numbers("unworded")["value"]
    slots = {row.key: slot for row, slot in zip(figure.rows, figure.panels[2].slots, strict=True)}
    assert {key: slot.dots[0].value for key, slot in slots.items()} == values.to_dict()
    assert picked == ""
    kinds = "96 depend on one place, 16 on each of several, 16 on either, only all together and 16 on none"
    assert f"Of 144 answers that stand in several places {kinds}." in text_of(app)
    assert [head.value for head in app.subheader] == ["Decoys and length"]


def test_a_mark_has_its_numbers_and_a_way_to_its_instances(store, own_store):
    app = open_well("leaderboard", mark=["fa", "unworded", ALL])
    (link,) = [link for label, link in links_of(app).items() if label.startswith("Open instances")]
    assert (link["sort"], link["explained_by"], link["regime"]) == (["source named by fa"], ["fa"], ["mixed"])
    assert "first place: 1.00" in "".join(one.proto.body for one in app.get("html"))
    open_well("leaderboard", mark=["fa", "every", ALL])
    assert open_page("leaderboard", mark=["fa", "nothing", ALL]).error


def test_the_link_that_had_its_own_tab_leads_to_its_section_with_a_word(store, own_store):
    app = open_well("leaderboard", tab="prompts")
    assert "“Decoys and length” is a section of this tab now" in text_of(app)
    assert app.title[0].value == "Which place did the answer depend on?"
    assert address_of(ran(app))["tab"] == ["prompts"]


def test_tables_have_the_figure_s_numbers(store, own_store):
    app = unfolded(open_well("leaderboard"), "source_numbers")
    assert {"csv_source", "latex_source", "svg_source", "csv_source-verdicts"} <= {
        one.key for one in app.get("download_button")
    }
    frame = exported_hard(hard_board(store))
    assert set(frame["column"]) == set(COLUMNS)
    assert frame[frame["control"]]["text_only"].any()
    own = frame[(frame["model"] == ALL) & (frame["column"] == "unworded")].set_index("explainer")
    assert (own.loc["fa", "first"], own.loc["fa", "last"], own.loc["attn", "rank"]) == (1, 0, "1")


def test_the_overview_shows_it_and_a_mark_leads_to_its_tab(store, own_store, figures, monkeypatch):
    text = text_of(open_page("overview"))
    assert told(store) in text
    assert "right in 0.00 where" in text_of(open_well("leaderboard"))
    assert "right in 0.00 where" not in text
    ((figure,), _) = figures["overview_marks"]
    assert [panel.title for panel in figure.panels] == [
        "Stands once", "Twice, words help", "Twice, they do not", "Last token reads",
    ]  # fmt: skip
    assert figure.compact


def test_a_filter_of_instances_leaves_their_numbers(store):
    some = Filter(relation=("relation 0", "relation 1", "relation 2", "relation 3"))
    rows, every = (hard_board(store, chosen).numbers("unworded") for chosen in (some, Filter()))
    assert 0 < rows["n"].iloc[0] < every["n"].iloc[0]
    ids = store.instance_ids(some)
    measured = store.query(
        "SELECT count(*) FROM score WHERE metric = 'which_mention' AND explainer = 'fa' AND part LIKE '%_unworded' "
        "AND instance_id IN (SELECT unnest(?))",
        [ids],
    )
    assert rows["n"].iloc[0] == measured.iat[0, 0]


def test_the_report_has_the_same_sentence_and_table(store):
    assert next(iter(plans_of(store))) == "source"
    own = section(store, "source")
    finding, _, models = re.sub(r"[*\\]", "", told(store)).partition(" The answers are of")
    assert own.text.startswith(finding)
    assert f"The answers are of{models}" in own.text
    assert [table.title for table in own.shown] == ["Explainers against a text search", "What answers depend on"]
    assert "/ 0.000" in own.latex("x") or "/ 0.00" in own.latex("x")


def test_results_without_sources_say_what_to_run_and_open_as_before(demo):
    assert "source" not in plans_of(demo)
    assert open_well("leaderboard").title[0].value == "Which explainer should I use?"
    assert NOTHING in text_of(open_well("leaderboard", tab="source"))
