"""Which technique makes a model use its context well?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.figures.technique_differences import differences_drawing, told
from heval_core.figures.technique_front import EVERY_KIND, front_drawing, share_known
from heval_core.figures.technique_names import between, measure_name, unit_of, with_unit
from heval_core.figures.technique_table import techniques_html, techniques_latex, unavailable
from heval_core.records import CONTEXT_KINDS, TECHNIQUE
from heval_core.store.reader import Reader
from heval_core.ui import address, instance_links, technique_verdicts
from heval_core.ui.exports import table_exports
from heval_core.ui.marks import id_of
from heval_core.ui.published_results import query
from heval_core.ui.technique_figure import technique_figure
from heval_core.ui.technique_page import Shown
from heval_core.ui.text import plain
from heval_core.wording import BEHAVIOUR_MEANINGS, REGIME_TITLES

TITLE = "Which technique makes a model use its context well?"
PARAMETER = "point"
_NOTE = "Filled: the 95 % interval of the paired difference leaves out 0. Bold: on the front. Click a mark for its instances."


def draw(results: Reader, shown: Shown) -> None:
    """The answer in a sentence, both figures, what a click leads to, and the numbers."""
    with st.container(key="answer"):
        st.markdown(technique_verdicts.of_techniques(shown.cells, shown.points, shown.names))
    id = picked_id()
    picked = id_of(id) if id else ""
    front = None
    if len(shown.points):
        front = front_drawing(shown.points, shown.names, share_known(shown.every), picked, shown.every_point)
    rows = differences_drawing(shown.cells, shown.measure, shown.names, shown.front, picked)
    unit = unit_of(shown.measure)
    title = f"{measure_name(shown.measure)}: difference to Regular" + (f", in {unit}" if unit else "")
    both = ("Following against ignoring", title)
    technique_figure("technique_marks", pick, front=front, differences=rows if rows["rows"] else None, titles=both, note=_NOTE)
    _not_available(shown)
    _selection(results, shown, id)
    _numbers(results, shown)


def picked_id() -> tuple[str, ...]:
    """Technique and kind of context of the mark that the address names; empty without one."""
    return tuple(address.values(PARAMETER))


def pick(id: Sequence[str]) -> None:
    """A second click on the same mark lets go of it."""
    address.put(**{PARAMETER: None if tuple(id) == picked_id() else list(id)})


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
        address.unreadable(PARAMETER, "the mark", "a mark of the figure: technique and kind of context")
        return
    key, kind = id
    said = _said(shown, key, kind)
    with st.container(key="selection", horizontal=True, vertical_alignment="center"):
        where = "" if kind == EVERY_KIND else f" · {REGIME_TITLES[kind]}"
        st.markdown(f"**{plain(shown.names.title(key) + where)}** {plain(said)}", width="stretch")
        _ways_on(results, shown, key, kind)
        st.button("×", key="let_go", help="Let go of the mark", on_click=address.setter(**{PARAMETER: None}))


def _said(shown: Shown, key: str, kind: str) -> str:
    if kind == EVERY_KIND:
        own = shown.points[shown.points["technique"] == key].to_dict("records")
        return "" if not own else _of_point(own[0])
    cells = shown.cells[shown.cells["measure"] == shown.measure]
    rows = cells[(cells["technique"] == key) & (cells["regime"] == kind)].dropna(subset=["value"]).to_dict("records")
    return f"{measure_name(shown.measure)} {told(rows[0], shown.measure)}" if rows else "not available"


def _of_point(row: Mapping[Any, Any]) -> str:
    return (
        f"follows {with_unit(row['context_faithfulness'])} {between(row['faithfulness_low'], row['faithfulness_high'])}, "
        f"ignores {with_unit(row['robustness'])} {between(row['robustness_low'], row['robustness_high'])}"
    )


def _ways_on(results: Reader, shown: Shown, key: str, kind: str) -> None:
    """To all instances of the mark, and to those whose BCU differs from Regular's."""
    regimes = tuple(CONTEXT_KINDS) if kind == EVERY_KIND else (kind,)
    there = set(shown.every.dropna(subset=["value"])["regime"])
    wanted = shown.filter(regime=tuple(regime for regime in regimes if regime in there), technique=(key,))
    instance_links.link_to("Its instances", wanted)
    if key == TECHNIQUE:
        return
    changes = query(results, Reader.changes, wanted)
    for change, words in (("gained", "gained over Regular"), ("lost", "lost")):
        count = int(changes[change].sum()) if change in changes else 0
        if count:
            instance_links.link_to(f"{count:,} {words}", shown.filter(regime=wanted.regime, technique=(key,), changed=change))


def _numbers(results: Reader, shown: Shown) -> None:
    st.subheader("The numbers")
    st.html(techniques_html(shown.cells, shown.measure, shown.names, shown.front))
    name, meaning = measure_name(shown.measure), BEHAVIOUR_MEANINGS.get(shown.measure, "")
    st.caption(
        f"**{plain(name)}**: {plain(meaning)}. **Memory kept**: {plain(BEHAVIOUR_MEANINGS['memory_kept'])}. **Neither**: "
        f"{plain(BEHAVIOUR_MEANINGS['neither'])}. **J**: {plain(BEHAVIOUR_MEANINGS['discrimination'])}. "
        f"**J, off topic**: {plain(BEHAVIOUR_MEANINGS['discrimination_off_topic'])}. In brackets: 95 % intervals over "
        "questions. The dashed line of the figure: techniques that treat all documents alike."
    )
    about = {"model": shown.model, "dataset": shown.dataset_title, "measure": shown.measure}
    paper = partial(techniques_latex, shown.cells, shown.measure, shown.names, shown.front, about, results.snapshot_id)
    table_exports(results, _exported(shown), "techniques", {"shown": shown.measure}, latex=paper, pictures=False)


def _exported(shown: Shown) -> pd.DataFrame:
    """All measures, each row with whether its technique is on the front."""
    points = shown.points.set_index("technique")[["on_front", "share_on_front"]]
    return shown.cells.join(points, on="technique")
