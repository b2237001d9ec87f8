"""The mark of a figure that a click picks: the address holds it, and a bar below the figure says what it is and leads on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st

from heval_core.figures.layout import ids_of
from heval_core.present.drawing import id_of
from heval_core.ui import address


@dataclass(frozen=True)
class Selection:
    """parameter: of the address. parts: what the id of a mark consists of; a figure's ids may have more parts behind these."""

    parameter: str
    parts: tuple[str, ...]

    @property
    def id(self) -> tuple[str, ...]:
        """Of the picked mark; empty without one."""
        return tuple(address.values(self.parameter))

    @property
    def drawn(self) -> str:
        """The id as figures tell marks apart; empty without one."""
        return id_of(self.id) if self.id else ""

    def pick(self, id: Sequence[str]) -> None:
        """A second click on the same mark lets go of it."""
        self.hold(() if tuple(id[: len(self.parts)]) == self.id else id)

    def hold(self, id: Sequence[str]) -> None:
        """Without an id no mark is picked."""
        address.put(**{self.parameter: list(id[: len(self.parts)]) or None})

    def on(self, figure: Any) -> bool:
        """Whether a point of a figure of Plotly is picked; an error where the link's mark is none of it."""
        there = self.id in ids_of(figure)
        if self.id and not there:
            self.refuse()
        return there

    def refuse(self) -> None:
        """Say that the link's mark is none."""
        right = f"a mark of the figure: {', '.join(self.parts[:-1])} and {self.parts[-1]}"
        address.unreadable(self.parameter, "the mark", right)

    @contextmanager
    def bar(self) -> Iterator[None]:
        """A bar with what the block draws, and a button that lets go of the mark."""
        with st.container(key="selection", horizontal=True, vertical_alignment="center"):
            yield
            st.button("×", key="let_go", help="Let go of the mark", on_click=address.setter(**{self.parameter: None}))
