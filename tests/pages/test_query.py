"""Queries are asked once for each snapshot, function and arguments."""

from __future__ import annotations

from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui.published_results import query


def test_a_query_is_asked_once_and_told_apart_by_everything_it_depends_on(demo):
    asked = []

    def counted(results: Reader, *arguments: object, **named: object) -> int:
        asked.append((arguments, named))
        return len(asked)

    first = query(demo, counted, Filter(("a",)), "1")
    assert query(demo, counted, Filter(("a",)), "1") == first
    others = [
        query(demo, counted, Filter(("b",)), "1"),
        query(demo, counted, Filter(("a",)), 1),
        query(demo, counted, Filter(("a",)), k="1"),
        query(demo, counted, Filter(("a",)), part="1"),
    ]
    assert len({first, *others}) == len(asked) == 5


def test_a_query_of_the_reader_gives_what_the_reader_gives(demo):
    chosen = Filter(regime=("mixed",))
    assert query(demo, Reader.instance_ids, chosen) == demo.instance_ids(chosen)
    assert query(demo, Reader.cells, chosen, "mrr", k=0).equals(demo.cells(chosen, "mrr", 0))
