"""The mark of a figure that a click picks: the address holds it, and a bar below the figure says what it is and leads on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st

from heval_core.present.drawing import Drawing, id_of
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
        held = list(id[: len(self.parts)])
        address.put(**{self.parameter: None if tuple(held) == self.id else held})

    def on(self, drawing: Drawing) -> bool:
        """Whether a mark of a drawing is picked; an error where the link's mark is none of it."""
        there = self.id in {spot.id for spot in drawing.spots if spot.id}
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
