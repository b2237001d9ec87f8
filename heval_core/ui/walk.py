"""Going through a list of instances: which one is shown, the ones beside it, and what a page says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from heval_core.evaluation.orders import SORTED_BY
from heval_core.figures.palette import in_order
from heval_core.records import TECHNIQUE, HEvalError
from heval_core.store.filters import AS_STORED, Filter
from heval_core.store.reader import Reader
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui import address
from heval_core.ui.names import controls_of, meanings_of, titles_of
from heval_core.ui.published_results import query
from heval_core.ui.reading import Pieces, Row, answer_ranks, said
from heval_core.ui.text import plain
from heval_core.wording import answer_from, ordinal, regime_title, token_name

# What changes with the instance: a head and a token of one mean nothing in another.
OF_ONE = {"pick": None, "pin": None, "need": None}


class Place(NamedTuple):
    """Where a reader is in a list of instances, or of explanations. position: from 0; None for one that is not in the list."""

    ids: list[str]
    position: int | None

    def beside(self, step: int) -> str | None:
        """The id some steps on; from one outside of the list, the first."""
        there = 0 if self.position is None else self.position + step
        return self.ids[there] if 0 <= there < len(self.ids) else None


def place_in(results: Reader, chosen: Filter, order: str = AS_STORED, descending: bool = False) -> tuple[Place, str | None]:
    """The list under a filter in an order, and the instance that is shown: the link's, else the first. None if there is none.

    An instance that the link names is shown under any filter; the next and previous ones are inside the filter.
    """
    ids = query(results, Reader.instance_ids, chosen, SORTED_BY[order], descending)
    return place_among(ids, "instance", results.instance)


def place_among(ids: list[str], name: str, find: Callable[[str], object]) -> tuple[Place, str | None]:
    """As `place_in`. name: the parameter of the link. find: raises HEvalError for what there is not at all."""
    wanted = address.value(name)
    if wanted in ids:
        return Place(ids, ids.index(wanted)), wanted
    first = (Place(ids, 0 if ids else None), ids[0] if ids else None)
    if not wanted:
        return first
    try:
        find(wanted)
    except HEvalError:
        address.refuse(name, wanted, [], name)
        return first
    return Place(ids, None), wanted


def go_to(instance_id: str | None, **more: Any) -> None:
    """Show an instance, and let go of what belongs to the last one. more: further parameters to set."""
    if instance_id is not None:
        painted = None if "head" in address.values("painted") else address.values("painted")
        address.put(instance=instance_id, painted=painted, **OF_ONE, **more)


def steps(place: Place) -> None:
    """Previous, where one is, and next."""
    back, forward = place.beside(-1), place.beside(1)
    st.button("‹ [", key="previous", disabled=back is None, on_click=go_to, args=(back,), help="Previous instance: [")
    count = f"{len(place.ids):,}"
    where = f"**{place.position + 1:,}** of {count}" if place.position is not None else f"not among these {count}"
    st.markdown(where, width="content")
    st.button("] ›", key="next", disabled=forward is None, on_click=go_to, args=(forward,), help="Next instance: ]")


def rows_of(results: Reader, attributions: dict[str, StoredAttribution]) -> list[Row]:
    """Rows of the stored attributions, methods first, controls last."""
    titles, meanings, controls = titles_of(results), meanings_of(results), controls_of(results)
    return [
        Row(
            key,
            titles.get(key, key).removesuffix(" (control)"),
            attributions[key].signed,
            attributions[key].scores,
            meanings.get(key, ""),
            key in controls,
            note=attributions[key].head_name,
        )
        for key in in_order(list(attributions))
    ]


def sentence(instance: StoredInstance, rows: list[Row]) -> Pieces:
    """What the model answered, and which method puts the answer highest and lowest among its tokens."""
    told: Pieces = [("", "The model answers "), ("b", said(instance)), ("", f", {answer_from(instance.group)}.")]
    methods = [row for row in rows if not row.control and not row.picked]
    ranks = answer_ranks(instance, methods)
    if not ranks:
        return told
    ordered = sorted(methods, key=lambda row: ranks[row.explainer])
    best, worst = ordered[0], ordered[-1]
    among = len(instance.ranked)
    told += [("", " "), ("b", best.title), ("", f" ranks that word {ordinal(ranks[best.explainer])} of {among:,}")]
    if ranks[worst.explainer] == ranks[best.explainer]:
        return [*told, ("", ".")]
    top = instance.tokens[max(instance.ranked, key=worst.scores.__getitem__)]
    own = f" {ordinal(ranks[worst.explainer])}: it points at {token_name(top)}."
    return [*told, ("", "; "), ("b", worst.title), ("", own)]


def facts(instance: StoredInstance, dataset: str, technique: str = "") -> str:
    """Model, dataset, regime and technique; whether the document was shown; and what the model was taught to believe."""
    parts = [instance.model, dataset, regime_title(instance.regime)]
    if instance.technique != TECHNIQUE:
        parts.append(technique or instance.technique)
    if instance.prompt and not instance.documents:
        parts.append("answered without the document")
    elif instance.expected_group:
        parts.append(f"taught to answer {answer_from(instance.expected_group)}")
    return plain(" · ".join(parts))
