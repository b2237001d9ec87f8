"""Faithfulness as a share of what is possible, so that models compare: under *Faithful?*, where bounds were searched."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import streamlit as st

from heval_core.evaluation.means import available, means, values_of
from heval_core.figures.palette import in_order
from heval_core.present.names import Names
from heval_core.present.numbers import number, so_many
from heval_core.records import ORDERS
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui.published_results import names_of, query

FALLING, _, LEAST, MOST = ORDERS
NATS, SHARE = "nats above the random control", "share above the random control"


def models_compared(results: Reader, chosen: Filter) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row per model, and of each explainer and model the share, with intervals; empty where no bounds are known.

    Of models: `nats` and `share`, of all methods above the random control, with `_low` and `_high`; the least and the most
    that any order costs, in nats; n answers. All are over the cells and explainers that every model has.
    """
    tables = {metric: query(results, values_of, chosen, metric, 0, ORDERS) for metric in ("aopc", "naopc")}
    if any(available(table).empty for table in tables.values()):
        return pd.DataFrame(), pd.DataFrame()
    controls = names_of(results).controls
    nats, shares = (_in_all_models(available(table)) for table in tables.values())
    falling = shares[shares["part"] == FALLING]
    table = means(nats[nats["part"].isin((LEAST, MOST))], ("part", "model")).pivot(
        index="model", columns="part", values="value"
    )
    for name, cells in (("nats", nats[nats["part"] == FALLING]), ("share", falling)):
        of_methods = means(cells[~cells["explainer"].isin(list(controls))], ("model",)).set_index("model")
        for end in ("", "_low", "_high"):
            table[name + end] = of_methods[f"above{end}"]
        table["n"] = of_methods["n"]
    return table.sort_values("nats", ascending=False), means(falling, ("explainer", "model"))


def _in_all_models(cells: pd.DataFrame) -> pd.DataFrame:
    where = cells.groupby(["dataset", "regime", "part", "explainer"])["model"].transform("nunique")
    return cells[where == cells["model"].nunique()]


def draw(results: Reader, chosen: Filter) -> None:
    """Draw both tables; nothing where no bounds were searched."""
    models, explainers = models_compared(results, chosen)
    if models.empty:
        return
    names = names_of(results)
    st.subheader("Can models be compared?")
    st.markdown(_sentence(models.rename(index=names.known("model"))))
    columns = {NATS: _with_ends(models, "nats"), "least": _numbers(models, LEAST), "most": _numbers(models, MOST)}
    columns |= {SHARE: _with_ends(models, "share"), "answers": models["n"]}
    st.dataframe(pd.DataFrame(columns).rename(names.known("model")), width="stretch")
    st.caption(
        "What the answer loses as the documents' tokens are taken out one after another, the method's best first; means over "
        "methods and cells that all models have, 95 %. Least and most: what any order costs, in nats."
    )
    with st.expander("Each explainer's share"):
        st.dataframe(_by_explainer(explainers, names), width="stretch")
        st.caption("0: the worst order, 1: the best. The random control is what an order by chance reaches.")


def _by_explainer(explainers: pd.DataFrame, names: Names) -> pd.DataFrame:
    written = explainers.assign(text=_with_ends(explainers, "value", ("low", "high")))
    table = written.pivot(index="explainer", columns="model", values="text")
    return table.reindex(in_order(list(table.index))).rename(index=names.known("explainer"), columns=names.known("model"))


def _numbers(table: pd.DataFrame, name: str) -> pd.Series:
    return table[name].map(number)


def _with_ends(table: pd.DataFrame, name: str, ends: tuple[str, ...] = ()) -> pd.Series:
    low, high = (_numbers(table, end) for end in ends or (f"{name}_low", f"{name}_high"))
    return _numbers(table, name) + " [" + low + ", " + high + "]"


def _sentence(models: pd.DataFrame) -> str:
    """Say what changes when a model's own bounds are the measure. models: by title, by falling nats."""
    first = models.index[0]
    reached = f"**{number(models['share'].iloc[0])}** [{_ends(models.iloc[0])}] of what lies between the least and the most"
    if len(models) == 1:
        return f"With {first}, methods reach {reached} that any order costs, above what the random control reaches."
    pairs, by_share = list(combinations(models.index, 2)), models.sort_values("share", ascending=False)
    turned = [pair for pair in pairs if models.loc[pair[0], "share"] < models.loc[pair[1], "share"]]
    of_pairs = f"{len(turned)} of {so_many(len(pairs), 'pair')}" if len(pairs) > 1 else "the pair" if turned else "no pair"
    best, second = by_share.iloc[0], by_share.iloc[1]
    again = "also for it" if best.name == first else f"for **{best.name}**"
    apart = "" if best["share_low"] > second["share_high"] else f", whose interval overlaps with that of {second.name}"
    return (
        f"In nats, faithfulness is highest for **{first}**; as a share of what its own answers can lose, {again} "
        f"({number(best['share'])} [{_ends(best)}] above the random control){apart}. The order of {of_pairs} of models turns."
    )


def _ends(row: pd.Series) -> str:
    return f"{number(row['share_low'])}, {number(row['share_high'])}"
