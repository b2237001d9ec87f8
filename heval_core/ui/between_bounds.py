"""Faithfulness as a share of what is possible, so that models compare: under *Faithful?*, where bounds were searched."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import streamlit as st

from heval_core.evaluation.means import available, means, values_of
from heval_core.figures.palette import in_order
from heval_core.present.names import Names
from heval_core.present.numbers import number
from heval_core.records import ORDERS, RANGE
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui.published_results import names_of, query

FALLING, _, LEAST, MOST = ORDERS
_CELL = ["model", "dataset", "regime"]
NATS, SHARE = "nats above the random control", "share above the random control"


def models_compared(results: Reader, chosen: Filter) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row per model, and of each explainer and model the share, with intervals; empty where no bounds are known.

    Of models: `nats` and `share`, of all methods above the random control, with `_low` and `_high`; the least and the most
    that any order costs, in nats; n and n_share answers. All are over the cells of methods that these models have.
    """
    tables = [query(results, values_of, chosen, metric, 0, ORDERS) for metric in ("aopc", "naopc")]
    nats, shares = (available(table) for table in tables)
    falling = shares[shares["part"] == FALLING]
    shared = _shared(falling[~falling["explainer"].isin(list(names_of(results).controls))])
    if shared.empty:
        return pd.DataFrame(), pd.DataFrame()
    nats, falling = (cells.merge(shared[_CELL], on=_CELL) for cells in (nats, falling))
    bounds = nats[nats["part"].isin((LEAST, MOST))]
    table = means(bounds, ("part", "model")).pivot(index="model", columns="part", values="value")
    for name, cells in (("nats", nats[nats["part"] == FALLING]), ("share", falling)):
        of_methods = means(cells.merge(shared, on=[*_CELL, "explainer"]), ("model",)).set_index("model")
        for end in ("", "_low", "_high"):
            table[name + end] = of_methods[f"above{end}"]
        table["n_share" if name == "share" else "n"] = of_methods["n"]
    return table.sort_values("nats", ascending=False), means(falling, ("explainer", "model"))


def _shared(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that all models have; where none is, those of as many models as have some in common."""
    by = ["dataset", "regime", "explainer"]
    have = {cell: frozenset(models) for cell, models in cells.groupby(by)["model"]}
    who = max(have.values(), key=lambda models: (len(models), sum(models <= others for others in have.values())), default=None)
    common = [cell for cell, models in have.items() if who and who <= models]
    shared = cells[cells["model"].isin(who or ())].merge(pd.DataFrame(common, columns=by), on=by)
    return shared[[*_CELL, "explainer"]].drop_duplicates()


def draw(results: Reader, chosen: Filter) -> None:
    """Draw both tables; nothing where no bounds were searched."""
    models, explainers = models_compared(results, chosen)
    if models.empty:
        return
    names, titles = names_of(results), names_of(results).titles("model", list(models.index))
    st.subheader("Can models be compared?")
    st.markdown(_sentence(models.rename(index=titles)))
    columns = {NATS: _with_ends(models, "nats"), "least": _numbers(models, LEAST), "most": _numbers(models, MOST)}
    columns |= {SHARE: _with_ends(models, "share"), "answers": models["n"], "of them with a share": models["n_share"]}
    st.dataframe(pd.DataFrame(columns).rename(titles), width="stretch")
    st.caption(
        "What the answer loses as the documents' tokens are taken out one after another, the method's best first; means over "
        "methods and cells that these models have, 95 %. Least and most: what any order costs, in nats. An answer has a share "
        f"where these are {RANGE} nats apart."
    )
    with st.expander("Each explainer's share"):
        st.dataframe(_by_explainer(explainers, names), width="stretch")
        st.caption("0: the worst order, 1: the best. The random control is what an order by chance reaches.")


def _by_explainer(explainers: pd.DataFrame, names: Names) -> pd.DataFrame:
    written = explainers.assign(text=_with_ends(explainers, "value", ("low", "high")))
    table = written.pivot(index="explainer", columns="model", values="text")
    return table.reindex(in_order(list(table.index))).rename(
        index=names.known("explainer"), columns=names.titles("model", list(table))
    )


def _numbers(table: pd.DataFrame, name: str) -> pd.Series:
    return table[name].map(number)


def _with_ends(table: pd.DataFrame, name: str, ends: tuple[str, ...] = ()) -> pd.Series:
    low, high = (_numbers(table, end) for end in ends or (f"{name}_low", f"{name}_high"))
    return _numbers(table, name) + " [" + low + ", " + high + "]"


def _sentence(models: pd.DataFrame) -> str:
    """Say what changes when a model's own bounds are the measure. models: by title, by falling nats."""
    first, way = models.index[0], "of the way from the least to the most that any order costs"
    if len(models) == 1:
        ends = f"[{number(models['share_low'].iloc[0])}, {number(models['share_high'].iloc[0])}]"
        share = f"**{number(models['share'].iloc[0])}** {ends}"
        return f"With {first}, methods go {share} {way}, beyond the random control. Models compare where several have bounds."
    pairs = [(models.loc[one], models.loc[other]) for one, other in combinations(models.index, 2)]
    turned = sum(one["share"] < other["share"] for one, other in pairs)
    apart = [
        sum(one[f"{name}_low"] > other[f"{name}_high"] or other[f"{name}_low"] > one[f"{name}_high"] for one, other in pairs)
        for name in ("nats", "share")
    ]
    return (
        f"In nats **{first}** is highest, as a share {way} **{models['share'].idxmax()}**. Pairs of models whose order "
        f"changes: {turned} of {len(pairs)}; pairs whose intervals are apart: {apart[0]} in nats, {apart[1]} in shares."
    )
