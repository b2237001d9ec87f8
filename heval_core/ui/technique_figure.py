"""The component of the page Techniques: points and rows; a click on a mark, or Enter, picks it."""

from __future__ import annotations

from typing import Any

from heval_core.ui.marks import OnPick, figure_of_marks


def technique_figure(
    key: str,
    on_pick: OnPick,
    *,
    front: dict[str, Any] | None = None,
    differences: dict[str, Any] | None = None,
    titles: tuple[str, str] = ("", ""),
    note: str = "",
) -> None:
    """Draw one figure, or two side by side. front: from `figures.technique_front`. differences: rows with marks in columns,
    as `figures.technique_differences` makes them. titles: of the two. note: under the second title. on_pick: called with the
    id of the mark that is picked.
    """
    data = {
        "front": front,
        "front_title": titles[0],
        "differences": differences,
        "differences_title": titles[1],
        "differences_note": note,
    }
    figure_of_marks("technique_figure", key, data, on_pick)
