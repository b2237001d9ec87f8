"""The page Techniques: what is compared, and its three tabs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.figures.dots_drawn import Part
from heval_core.figures.front import as_drawing
from heval_core.figures.technique_differences import differences_figure, told
from heval_core.figures.technique_features import correlation_table, features_figure
from heval_core.figures.technique_front import EVERY_KIND, front_figure, share_known
from heval_core.figures.technique_table import technique_table, unavailable
from heval_core.figures.technique_trials import Search, searches
from heval_core.present.names import Names, change_unit, measure_name
from heval_core.present.numbers import SHARE, interval
from heval_core.records import CONTEXT_KINDS, TECHNIQUE
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links, technique_verdicts
from heval_core.ui.exports import draw_table, table_exports
from heval_core.ui.marks import draw_figures
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query
from heval_core.ui.selection import Selection
from heval_core.ui.text import plain
from heval_core.words import BEHAVIOURS, REGIMES, counted, listed, titles

# Measures of one answer each, so that they exist for each kind of context.
BY_KIND = ("bcu", "ccu", "accuracy", "memory_kept", "neither", "bcu_unknown")
# What `feature_correlation` calls all datasets together.
EVERY_DATASET = "all"


@dataclass(frozen=True)
class Shown:
    """What a tab shows. cells, points: of one model and dataset, and of the chosen techniques. every, every_point: of all."""

    model: str
    dataset: str
    dataset_title: str
    measure: str
    names: Names
    cells: pd.DataFrame
    points: pd.DataFrame
    trials: pd.DataFrame
    every: pd.DataFrame
    every_point: pd.DataFrame

    @property
    def front(self) -> list[str]:
        """The techniques on the Pareto front."""
        return [str(key) for key in self.points[self.points["on_front"].astype(bool)]["technique"]] if len(self.points) else []

    def filter(self, **more: object) -> Filter:
        return Filter(model=(self.model,), dataset=(self.dataset,), **more)  # type: ignore[arg-type]


def has_techniques(results: Reader) -> bool:
    """Whether these results compare techniques at all."""
    return len(query(results, Reader.technique_cells, Filter())) > 0


def choose(results: Reader, *, compare: bool) -> Shown:
    """Draw the chips. compare: with techniques and measure."""
    cells = query(results, Reader.technique_cells, Filter())
    names = names_of(results)
    model = address.chip("Model", _most_compared(cells, "model"), "model")
    own = cells[cells["model"] == model]
    dataset = address.chip(
        "Dataset", there := _most_compared(own, "dataset"), "dataset", titles=names.titles("dataset", there)
    )
    own = own[own["dataset"] == dataset]
    chosen = Filter(model=(model,), dataset=(dataset,))
    points, trials = query(results, Reader.technique_points, chosen), query(results, Reader.technique_trials, chosen)
    measure, shown = "bcu", names.techniques_in_order(own.dropna(subset=["value"])["technique"])
    if compare:
        shown = _techniques(shown, names)
        measure = _measure(own)
    kept, drawn = own[own["technique"].isin([TECHNIQUE, *shown])], points[points["technique"].isin([TECHNIQUE, *shown])]
    return Shown(model, dataset, names.dataset(dataset), measure, names, kept, drawn, trials, own, points)


def _most_compared(cells: pd.DataFrame, column: str) -> list[str]:
    """The values of a column, first the one with the most techniques on a dataset: that is what a reader sees first."""
    counts = cells.dropna(subset=["value"]).groupby(["model", "dataset"])["technique"].nunique().groupby(column).max()
    return sorted(cells[column].unique(), key=lambda one: (-counts.get(one, 0), one))


def choose_dataset(results: Reader, correlations: pd.DataFrame) -> str:
    """The chip of the tab whose numbers pool all models: a dataset, or all of them."""
    there = sorted(correlations["dataset"].unique(), key=lambda name: (name != EVERY_DATASET, name))
    titles = names_of(results).titles("dataset", there) | {EVERY_DATASET: "all together"}
    return address.chip("Dataset", there, "dataset", titles=titles)


def _techniques(there: list[str], names: Names) -> list[str]:
    others = [key for key in there if key != TECHNIQUE]
    asked = [key for key in others if key in address.values("techniques")] or others
    with st.popover(f"Techniques **{len(asked)} of {len(others)}**"):
        titles = names.titles("technique", others)
        about = "All are compared with Regular, which is always shown. The Pareto front is that of all techniques."
        chosen = address.some_of("Techniques", others, "techniques", what="technique", titles=titles, help=about)
    return [key for key in others if key in chosen] or others


def _measure(own: pd.DataFrame) -> str:
    known = set(own.dropna(subset=["value"])["measure"])
    there = [measure for measure in BY_KIND if measure in known] or ["bcu"]
    return address.chip(
        "Measure",
        there,
        "measure",
        titles=titles(BEHAVIOURS),
        meanings={word.key: word.meaning for word in BEHAVIOURS.values()},
    )


COMPARE = "Which technique makes a model use its context well?"
MARK = Selection("point", ("technique", "kind of context"))
_NOTE_OF_MARKS = (
    "Filled: the 95 % interval of the paired difference leaves out 0. Bold: on the front. Click a mark for its instances."
)


def draw_compare(results: Reader, shown: Shown) -> None:
    """The answer in a sentence, both figures, what a click leads to, and the numbers."""
    with st.container(key="answer"):
        st.markdown(technique_verdicts.of_techniques(shown.cells, shown.points, shown.names))
    parts = []
    if len(shown.points):
        front = front_figure(shown.points, shown.names, share_known(shown.every), shown.every_point)
        parts.append(Part(as_drawing(front), "Following against ignoring"))
    differences = differences_figure(shown.cells, shown.measure, shown.names, shown.front)
    unit = change_unit(shown.measure).sign.strip()
    title = f"{measure_name(shown.measure)}: difference to Regular" + (f", in {unit}" if unit else "")
    parts += [Part(differences, title, _NOTE_OF_MARKS)] if differences else []
    draw_figures("technique_marks", *parts, on_pick=MARK.pick, picked=MARK.drawn)
    _not_available(shown)
    _selection(results, shown, MARK.id)
    _numbers(results, shown)


def _not_available(shown: Shown) -> None:
    missing = unavailable(shown.every, shown.trials, shown.names)
    if missing:
        st.caption(
            "Not available: " + "; ".join(f"**{plain(title)}** ({plain(why.rstrip('.'))})" for title, why in missing) + "."
        )


def _selection(results: Reader, shown: Shown, id: tuple[str, ...]) -> None:
    """The bar under the figure: what the clicked mark is, and its instances."""
    if not id:
        return
    known = set(shown.every["technique"])
    if len(id) != 2 or id[0] not in known or id[1] not in (EVERY_KIND, *CONTEXT_KINDS):
        MARK.refuse()
        return
    key, kind = id
    said = _said(shown, key, kind)
    with MARK.bar():
        where = "" if kind == EVERY_KIND else f" · {REGIMES[kind].title}"
        st.markdown(f"**{plain(shown.names.technique(key) + where)}** {plain(said)}", width="stretch")
        _ways_on(results, shown, key, kind)


def _said(shown: Shown, key: str, kind: str) -> str:
    if kind == EVERY_KIND:
        own = shown.points[shown.points["technique"] == key].to_dict("records")
        return "" if not own else _of_point(own[0])
    cells = shown.cells[shown.cells["measure"] == shown.measure]
    rows = cells[(cells["technique"] == key) & (cells["regime"] == kind)].dropna(subset=["value"]).to_dict("records")
    return f"{measure_name(shown.measure)} {told(rows[0], shown.measure)}" if rows else "not available"


def _of_point(row: Mapping[Any, Any]) -> str:
    return (
        f"follows {interval(row['context_faithfulness'], row['faithfulness_low'], row['faithfulness_high'], SHARE)}, "
        f"ignores {interval(row['robustness'], row['robustness_low'], row['robustness_high'], SHARE)}"
    )


def _ways_on(results: Reader, shown: Shown, key: str, kind: str) -> None:
    """To all instances of the mark, and to those whose BCU differs from Regular's."""
    regimes = tuple(CONTEXT_KINDS) if kind == EVERY_KIND else (kind,)
    there = set(shown.every.dropna(subset=["value"])["regime"])
    wanted = shown.filter(regime=tuple(regime for regime in regimes if regime in there), technique=(key,))
    links.link_to("Its instances", wanted)
    if key == TECHNIQUE:
        return
    changes = query(results, Reader.changes, wanted)
    for change, words in (("gained", "gained over Regular"), ("lost", "lost")):
        count = int(changes[change].sum()) if change in changes else 0
        if count:
            links.link_to(f"{count:,} {words}", shown.filter(regime=wanted.regime, technique=(key,), changed=change))


def _numbers(results: Reader, shown: Shown) -> None:
    st.subheader("The numbers")
    table = technique_table(shown.cells, shown.measure, shown.names, shown.front)
    about = {"model": shown.model, "dataset": shown.dataset_title, "shown": shown.measure}
    draw_table(results, table, _exported(shown), "techniques", about)
    st.caption("The dashed line of the figure: techniques that treat all documents alike.")


def _exported(shown: Shown) -> pd.DataFrame:
    """All measures, each row with whether its technique is on the front."""
    points = shown.points.set_index("technique")[["on_front", "share_on_front"]]
    return shown.cells.join(points, on="technique")


DEPENDS = "What does good use of the context depend on?"
_NOTE_OF_FEATURES = (
    "Hollow: over all models and datasets together. Filled: within each of them. Bold with a star: p < .05 after Holm."
)


def choose_features(results: Reader) -> Filter | None:
    """Draw the chips; None where no correlation is published."""
    correlations = query(results, Reader.technique_correlations, Filter())
    if correlations.empty:
        return None
    dataset = choose_dataset(results, correlations)
    names = names_of(results)
    there = names.techniques_in_order(correlations[correlations["dataset"] == dataset]["technique"])
    return Filter(
        dataset=(dataset,), technique=(address.chip("Technique", there, "under", titles=names.titles("technique", there)),)
    )


def draw_features(results: Reader, chosen: Filter | None) -> None:
    """The sentence, rho for every feature and kind of context, and the table."""
    if chosen is None:
        st.info("These results hold no answers that features could be compared with.", icon=":material/straighten:")
        return
    every = query(results, Reader.technique_correlations, Filter())
    own = every[(every["dataset"] == chosen.dataset[0]) & (every["technique"] == chosen.technique[0])]
    with st.container(key="answer"):
        st.markdown(technique_verdicts.of_features(own, names_of(results).technique(chosen.technique[0])))
    draw_figures("features", Part(features_figure(own), "Correlation of BCU with features, Spearman's rho", _NOTE_OF_FEATURES))
    st.caption(
        "Pooled: all answers of all models in one heap, as in CUB. A feature looks guilty there even if it only tells models "
        "or datasets apart that differ for other reasons. Within: answers are ranked inside each model and dataset, and only "
        "then put together, so that such differences cannot count. A feature of the model never varies within a model, so it "
        "has no filled dot. Chance is 0 for both. The pooled p takes all answers as independent; for features of the model it "
        "is far too small."
    )
    st.subheader("The numbers")
    st.dataframe(correlation_table(own), hide_index=True)
    table_exports(results, own, "features")


SEARCH = "Which settings were chosen, and how clearly?"
_HEIGHT = 320


def draw_search(results: Reader, shown: Shown) -> None:
    """For each technique that has something to choose: the search in a sentence, and every setting that was tried."""
    found = searches(shown.trials)
    with st.container(key="answer"):
        st.markdown(_answer(found, shown))
    for search in found:
        _search(search, shown)
    failed = shown.trials.dropna(subset=["unavailable"]).drop_duplicates("technique")
    if len(failed):
        told = [
            f"**{plain(shown.names.technique(row.technique))}** ({plain(str(row.unavailable).rstrip('.'))})"
            for row in failed.itertuples()
        ]
        st.caption(f"Not searched: {'; '.join(told)}.")
    st.caption(
        "Settings are chosen on development questions, by each method's own rule, and then used on the test questions that "
        "the other numbers are about. COIECD is chosen by gold documents, as in CUB, PH3 by the documents that its mode is "
        "for, the others by the mean. The mean BCU of gold, conflicting and irrelevant does not settle it where corner "
        "policies tie at 2/3: a model that always follows is then as good as one that never does but knows the gold answers. "
        "So all ties are stored and counted."
    )
    if len(shown.trials):
        table_exports(results, shown.trials, "search")


def _answer(found: list[Search], shown: Shown) -> str:
    found = [one for one in found if not one.trained]
    if not found:
        return "No technique of these results has a setting to choose."
    tied = [f"**{plain(shown.names.technique(one.technique))}** ({one.ties:,})" for one in found if one.ties > 1]
    start = f"{counted(len(found), 'technique').capitalize()} had settings to choose."
    if not tied:
        return f"{start} Each choice is the only best one on the development questions."
    return f"{start} Several settings are equally good on the development questions for {listed(tied)}."


def _search(search: Search, shown: Shown) -> None:
    st.subheader(plain(shown.names.technique(search.technique)))
    said = "On" if search.trained else "Chosen:"
    st.markdown(f"{plain(search.sentence)} {said} **{plain(search.chosen)}**.")
    if search.trained:
        return
    if search.heads:
        st.markdown(f"It prunes {counted(len(search.heads), 'head')}: {plain(', '.join(search.heads))}.")
    table = search.table
    st.dataframe(table, hide_index=True, height=min(_HEIGHT, 38 + 35 * len(table)))
    st.caption(
        f"BCU in percent on the development questions, by kind of context; {len(table):,} settings, the chosen one first."
    )
