"""Pages are of one technique; where a store holds several, a control chooses it, and links carry it."""

import pytest

from heval_core.records import TECHNIQUE
from heval_core.store.filters import Filter
from tests.pages.opening import open_well, text_of
from tests.planted import published
from tests.store.test_techniques import OTHER, REGIMES, planted

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_store")]

# Pages, and the tabs of those that have some.
VIEWS = [
    ("overview", ""), ("about", ""), ("instances", ""), ("about", "data"),
    *(("leaderboard", tab) for tab in ("source", "overall", "regime", "failures", "against")),
]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return planted(
        tmp_path_factory.mktemp("techniques"), TECHNIQUE, OTHER, count=80, regimes=REGIMES[:2], publishing=published
    )


@pytest.mark.parametrize("technique", [None, TECHNIQUE, OTHER])
def test_a_page_shows_the_chosen_technique_and_regular_by_default(store, technique, figures):
    app = open_well("overview", **({} if technique is None else {"technique": technique}))
    wanted, left = (technique, OTHER if technique != OTHER else TECHNIQUE) if technique else (TECHNIQUE, OTHER)
    assert app.selectbox(key="technique").value == wanted
    ((figure,), _) = figures["overview_marks"]
    shown = {dot.value for panel in figure.panels for slot in panel.slots for dot in slot.dots}
    own, other = (set(store.headline(Filter(technique=(name,)))["normalised"]) for name in (wanted, left))
    assert own <= shown
    assert not other <= shown


@pytest.mark.parametrize(("page", "tab"), VIEWS)
def test_every_page_runs_on_two_techniques(page, tab):
    open_well(page, technique=OTHER, **({"tab": tab} if tab else {}))


def test_a_link_to_instances_lists_those_of_its_technique(store):
    app = open_well("instances", technique=OTHER, regime="conflicting")
    assert app.selectbox(key="technique").value == OTHER
    count = len(store.instance_ids(Filter(regime=("conflicting",), technique=(OTHER,))))
    assert f"of {count:,}" in text_of(app)
