"""What a click picks: marks of figures, points of figures of Plotly, rows of tables of instances. The address holds a mark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.figures.dots import DotFigure
from heval_core.figures.dots_drawn import FigurePart, as_html
from heval_core.figures.plots import ids_of, legible
from heval_core.present.drawing import id_of
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.component import component
from heval_core.ui.links import INSTANCES

OnPick = Callable[[list[str]], None]
_REMOVED = ["select2d", "lasso2d", "autoScale2d"]


@dataclass(frozen=True)
class MarkSelection:
    """parameter: of the address. parts: what the id of a mark consists of; a figure's ids may have more parts behind these."""

    parameter: str
    parts: tuple[str, ...]

    @property
    def id(self) -> tuple[str, ...]:
        """Of the picked mark; empty without one."""
        return tuple(address.values(self.parameter))

    def draw(self, key: str, *figures: FigurePart | DotFigure) -> None:
        """Draw figures of which a click picks a mark."""
        draw_figures(key, *figures, on_pick=self.pick, picked=id_of(self.id) if self.id else "")

    def pick(self, id: Sequence[str]) -> None:
        """Pick a mark; a second click on the same one lets go of it."""
        self.hold(() if tuple(id[: len(self.parts)]) == self.id else id)

    def hold(self, id: Sequence[str]) -> None:
        """Hold a mark; without an id none is picked."""
        address.put(**{self.parameter: list(id[: len(self.parts)]) or None})

    def on(self, figure: Any) -> bool:
        """Return whether a point of a figure of Plotly is picked; an error where the link's mark is none of it."""
        return self.is_one(lambda *id: id in ids_of(figure))

    def is_one(self, known: Callable[..., bool], hint: str = "") -> bool:
        """Return whether a mark is picked that there is; an error where the link's is none.

        known: of a mark, told its parts. hint: stands where a picked mark is told, as long as none is.
        """
        if len(self.id) == len(self.parts) and known(*self.id):
            return True
        if self.id:
            right = f"a mark of the figure: {', '.join(self.parts[:-1])} and {self.parts[-1]}"
            address.unreadable(self.parameter, "the mark", right)
        elif hint:
            with st.container(key="selection_none"):
                st.caption(hint)
        return False

    @contextmanager
    def bar(self) -> Iterator[None]:
        """Draw a bar with what the block draws, and a button that lets go of the mark."""
        with st.container(key="selection", horizontal=True, vertical_alignment="center"):
            yield
            st.button("×", key="let_go", help="Let go of the mark", on_click=address.setter(**{self.parameter: None}))


def _texts(id: Any) -> list[str]:
    """Read an id that comes from the browser: only texts are taken from it."""
    return [part for part in id if isinstance(part, str)] if isinstance(id, list) else []


def draw_figures(key: str, *figures: FigurePart | DotFigure, on_pick: OnPick, picked: str = "") -> None:
    """Draw figures of marks.

    on_pick: called with the id of the mark that is clicked, or on which Enter is pressed. picked: the id of the one that is
    picked, as `id_of` writes it.
    """

    def click(picked: str) -> None:
        if mark_id := _texts(json.loads(picked)):
            on_pick(mark_id)

    parts = [figure if isinstance(figure, FigurePart) else FigurePart(figure) for figure in figures]
    component("marks", key, {"html": as_html(*parts), "picked": picked}, picked=click)


def draw_plotly(results: Reader, figure: Any, key: str, about: str, on_pick: OnPick, **more: Any) -> None:
    """Draw a figure of Plotly, with a camera that saves it. about: it in words, for those who do not see it.

    on_pick: called with the id of the point that is clicked; without any when that is let go.
    """
    # The picture is made in the browser.
    saved = {"format": "svg", "filename": f"heval-{key.replace('_', '-')}-{results.snapshot_id[:8]}"}
    config = {"displaylogo": False, "modeBarButtonsToRemove": _REMOVED, "toImageButtonOptions": saved}

    def select() -> None:
        points = st.session_state[key].selection.points
        on_pick(_texts(points[0].get("customdata")) if points else [])

    legible(figure, st.context.theme.type == "dark")
    st.plotly_chart(figure, key=key, on_select=select, selection_mode="points", config=config, alt=about, **more)


def draw_instances(table: pd.DataFrame, ids: Sequence[str], key: str, about: str) -> None:
    """Draw a table of instances; the one that is ticked has a link. ids: of its rows. about: the caption below it."""
    event = st.dataframe(table, hide_index=True, on_select="rerun", selection_mode="single-row", key=key)
    st.caption(about)
    rows = event.selection.rows if event else []
    if rows and rows[0] < len(table):
        instance_id = str(list(ids)[rows[0]])
        parameters = {"instance": instance_id}
        st.page_link(INSTANCES, label=f"Open the instance {instance_id}", icon=":material/article:", query_params=parameters)
