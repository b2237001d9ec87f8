"""The Overview: what it says and draws is the Leaderboard's, and its doors open the lists they promise."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.store.filters import NOT_ANSWER, BestToken, Filter
from heval_core.ui import overview as page
from heval_core.ui.overview import pair
from tests.board.planted import level, planted
from tests.pages.opening import board, html_of, open_page, open_well, text_of


def doors(app) -> list[str]:
    return [html.unescape(link) for link in re.findall(r'<a class="soft o-door[^"]*"[^>]*? href="([^"]*)"', html_of(app))]


def test_any_pattern_but_the_answer_can_be_asked_for(demo):
    wrong = set(
        demo.query(
            "SELECT instance_id FROM pattern JOIN instance USING (instance_id) "
            "WHERE explainer = 'mechlight' AND pattern <> 'answer' AND NOT contains(regime, '.')"
        )["instance_id"]
    )
    assert set(demo.instance_ids(Filter(best=(BestToken("mechlight", NOT_ANSWER),)))) == wrong
    assert not wrong & set(demo.instance_ids(Filter(best=(BestToken("mechlight", "answer"),))))
    assert BestToken("mechlight", NOT_ANSWER) in demo.best_tokens()


@pytest.mark.parametrize("asked", [{}, {"model": "demo-gpt2"}], ids=str)
def test_it_recommends_and_draws_what_the_leaderboard_does(demo, figures, asked):
    app = open_page("overview", **asked)
    chosen = Filter(**{name: (value,) for name, value in asked.items()}, technique=("regular",), explained=True)
    made = board(demo, chosen)
    assert conclusion(made).said in re.sub(r"[*\\]", "", text_of(app))
    ((figure,), _) = figures["overview_marks"]
    assert [row.key for row in figure.rows] == [row.key for row in made.rows]
    values = made.values.set_index(["column", "explainer"])["value"]
    for column, panel in zip(made.questions, figure.panels, strict=True):
        assert [slot.dots[0].value for slot in panel.slots if slot.dots] == [
            values[column.key, row.key] for row, slot in zip(figure.rows, panel.slots, strict=True) if slot.dots
        ]


def test_a_click_on_a_mark_opens_the_leaderboard_with_it_picked(monkeypatch):
    gone_to = []
    monkeypatch.setattr(page.st, "switch_page", lambda to, query_params: gone_to.append((to, query_params)))
    monkeypatch.setattr(page.st, "session_state", {})
    page._open(Filter(("demo-gpt2",)), ["fa", "RQ3", "*"], "overall")
    page.follow_pick()
    assert gone_to == [("pages/leaderboard.py", {"model": ["demo-gpt2"], "tab": ["overall"], "mark": ["fa", "RQ3", "*"]})]


@pytest.mark.slow
def test_a_door_promises_as_many_instances_as_its_list_has(demo):
    app = open_page("overview", dataset="world_capital")
    asked = parse_qs(urlsplit(doors(app)[1]).query)
    right, wrong = (value.partition(":")[0] for value in asked["best"])
    made = board(demo, Filter(dataset=("world_capital",), technique=("regular",), explained=True))
    assert (right, wrong) == pair(made)
    ids = demo.instance_ids(
        Filter(dataset=("world_capital",), best=tuple(BestToken(*value.split(": ")) for value in asked["best"]))
    )
    assert f"{len(ids):,} instances in which" in html_of(app)
    assert f"**1** of {len(ids):,}" in text_of(open_well("instances", **asked))


def test_the_suspect_is_another_one_than_the_recommended():
    def of(*keys: str) -> tuple[str, str] | None:
        return pair(planted({key: level(*3 * [0.9 - 0.2 * place]) for place, key in enumerate(keys)}))

    assert of("fa", "ig", "mechlight", "attn") == ("fa", "mechlight")
    assert of("mechlight", "fa", "ig") == ("mechlight", "ig")
    assert of("a", "b") == ("a", "b")
    assert of("a") is None
