"""Links from a number to its instances, to single ones, and from HTML of our own to other pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from heval_core.evaluation.orders import order_of
from heval_core.metrics.shared.measure import PROTECTED, Measure
from heval_core.present.html import plain
from heval_core.records.groups import MEMORY, compared_groups, document_of
from heval_core.records.regime_keys import read_key
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, filters
from heval_core.ui.component import component
from heval_core.ui.published_results import WHICH_RESULTS

INSTANCES = "pages/instances.py"
_ROUNDING = 1e-6
# The groups whose instances a cell's part is made of. A group's own name is a part too; other parts are of all groups.
GROUPS_OF_PART = {"balanced": compared_groups(2), "all": (), f"all{PROTECTED}": (), "swap": ()}


def link_to(label: str, chosen: Filter, sort: str = "", descending: bool = False) -> None:
    """Draw a link to the instances under a filter. sort: a key of SORTED_BY; as stored where it is empty."""
    st.page_link(INSTANCES, label=plain(label), icon=":material/article:", query_params=parameters(chosen, sort, descending))


def link_behind(results: Reader, counted: Filter, explainer: str, measure: Measure | None = None) -> None:
    """Draw a link to the instances that a mark of an explainer counts, those first on which it does worst by the measure."""
    sort = order_of(measure, explainer) if measure else ""
    lowest_last = bool(sort and measure and measure.best == "low")
    link_to(f"Open its {filters.how_many(results, counted):,} instances", counted, sort, lowest_last)


def parameters(chosen: Filter, sort: str = "", descending: bool = False) -> dict[str, list[str]]:
    """Return what the controls of the Instances page read back from the address. They show positions as whole percents."""
    by_name: dict[str, list[str]] = {}
    for name, value in {**vars(chosen), "sort": sort, "descending": descending}.items():
        if name == "answer_at" and value:
            low, high = (100 * end for end in value)
            by_name[name] = [str(math.floor(low + _ROUNDING)), str(math.ceil(high - _ROUNDING))]
        elif isinstance(value, bool):
            by_name |= {name: ["true"]} if value else {}
        elif value:
            by_name[name] = [value] if isinstance(value, str) else [str(item) for item in value]
    # The number of tokens that count, and of which results, go along, as in the navigation.
    return by_name | {name: [address.value(name)] for name in ("k", WHICH_RESULTS) if address.value(name)}


def of_part(chosen: Filter, measure: Measure, regime: str, part: str, **more: Any) -> Filter:
    """Return the instances that a part of a measure is of in a regime, under the filter of a figure. more: such as a model."""
    return replace(chosen, regime=(regime,), group=groups_of(measure, part, regime) or chosen.group, **more)


def groups_of(measure: Measure, part: str, regime: str) -> tuple[str, ...]:
    """Return the groups whose instances a cell's part is made of; none where all are.

    Most parts compare the regime's two groups.
    """
    if document_of(part) is not None:
        return (part,)
    compared = compared_groups(read_key(regime).documents)
    return GROUPS_OF_PART.get(part, tuple(group for group in compared if not (measure.used_only and group == MEMORY)))


def href(page: str, parameters: Mapping[str, str | list[str]]) -> str:
    """Return the address of a page, relative to the Overview. page: as in its address."""
    encoded = urlencode(parameters, doseq=True)
    return f"{page}?{encoded}" if encoded else page


def follow() -> None:
    """Make links of the class `soft` on this page such links."""
    component("soft_links", "soft_links", {})


def go(page: str, parameters: Mapping[str, str | list[str]]) -> None:
    """Open a page now, as if such a link had been clicked; draw it until that page is there."""
    component("soft_links", "soft_link_now", {"go": href(page, parameters)})
