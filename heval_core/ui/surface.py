"""The reading surface on a page: a prompt with its highlights and what belongs beside it, kept in the address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from heval_core.figures.palette import in_order
from heval_core.groups import context_groups, numbered
from heval_core.metrics.shared.cell import DEFAULT_K, KS
from heval_core.present.numbers import percent
from heval_core.stored import StoredInstance
from heval_core.ui import address
from heval_core.ui.component import component
from heval_core.ui.reading import SCALES, Pieces, Row, answer_of, chance_rank, prompt_data
from heval_core.units import LEVELS
from heval_core.words import answer_from

MODES = ("text", "rows")


@dataclass(frozen=True)
class View:
    """What a reader has chosen to see of a prompt; every field is a parameter of the address.

    mode: one of MODES. painted: one or two explainers; `head` is a head that was picked. level: of `units.LEVELS`. scale: of
    `reading.SCALES`. drawn: the picked set of explainers, empty for the first six. pick: a head, as in `L3H4`. pin: a unit.
    """

    mode: str
    painted: list[str]
    k: int
    level: str
    scale: str
    drawn: list[str]
    controls: bool
    pick: str
    pin: int | None


def view_of(rows: Sequence[Row], heads: Sequence[str] | None, units: int) -> View:
    """The view that the address asks for. Shows an error for what it asks for that is not here.

    heads: names of those that can be picked; None where none can, whatever the address says. units: how many units a pin can
    be on.
    """
    keys = in_order([row.explainer for row in rows])
    pick = "" if heads is None else (address.known("pick", heads, "head") or [""])[-1]
    painted = address.known("painted", [*keys, "head"], "explainer")[:2]
    painted = [key for key in painted if key != "head" or pick] or (["head"] if pick else keys[:1])
    pin = address.value("pin")
    return View(
        mode=(address.known("mode", MODES) or ["text"])[-1],
        painted=painted,
        k=(address.known("k", KS) or [DEFAULT_K])[-1],
        level=(address.known("level", LEVELS) or [LEVELS[0]])[-1],
        scale=(address.known("scale", SCALES) or [SCALES[0]])[-1],
        drawn=address.known("drawn", keys, "explainer"),
        controls=bool(address.known("controls", (True,))),
        pick=pick,
        pin=address.whole("pin", 0, max(0, units - 1), 0, "the token") if pin else None,
    )


def keep(view: dict[str, Any], first: str) -> None:
    """Write a view that the surface reports into the address. first: the explainer that is painted by default."""
    plain_painted = view["painted"] == [first] and not view["pick"]
    address.put(
        mode=view["mode"] if view["mode"] != "text" else None,
        painted=None if plain_painted else view["painted"],
        k=view["k"] if view["k"] != DEFAULT_K else None,
        level=view["level"] if view["level"] != LEVELS[0] else None,
        scale=view["scale"] if view["scale"] != SCALES[0] else None,
        drawn=view["drawn"],
        controls=bool(view["controls"]),
        pick=view["pick"],
        # A unit of one level is not that of another.
        pin=view["pin"] if view["level"] == address.value("level", LEVELS[0]) else None,
    )


def draw(
    instance: StoredInstance,
    rows: Sequence[Row],
    view: View,
    heads: dict[str, Any] | None,
    title: str,
    lead: Pieces,
    *,
    asked: Callable[[str], None] = lambda what: None,
) -> None:
    """Draw the surface.

    heads: as `heads.map_data` gives. lead: the sentence under the title. asked: called with `step -1`, `step 1` or `need`.
    """
    key = "reading"
    # Without an explainer, of an answer that none was run on, nothing is painted.
    first = next(iter(in_order([row.explainer for row in rows])), "")

    def changed() -> None:
        state = st.session_state.get(key) or {}
        if state.get("view"):
            keep(state["view"], first)

    def triggered() -> None:
        state = st.session_state.get(key) or {}
        if state.get("asked"):
            asked(str(state["asked"]).rpartition(" ")[0])

    data = {
        "id": instance.instance_id,
        "title": title,
        "lead": lead,
        **prompt_data(instance, rows, view.level, view.scale),
        "answer": _answer(instance),
        "used": instance.used_document is not None,
        "chance": chance_rank(instance),
        "sources": sources(instance),
        "heads": heads,
        "level": view.level,
        "levels": list(LEVELS),
        "ks": list(KS),
        "view": asdict(view),
    }
    component("reading")(key=key, data=data, on_view_change=changed, on_asked_change=triggered)


def _answer(instance: StoredInstance) -> dict[str, str]:
    return {"text": answer_of(instance), "share": percent(instance.predicted_probability), "from": answer_from(instance.group)}


def sources(instance: StoredInstance) -> list[dict[str, Any]]:
    """Where the answer could come from: a line for each document and for memory, with the probability of its answer."""
    kinds = [document.kind for document in instance.documents]
    there = numbered(kinds)
    groups = dict(zip(there, context_groups(len(there)), strict=True))
    likely = {candidate.group: candidate.probability for candidate in instance.candidates}
    lines: list[dict[str, Any]] = [
        {
            "label": f"document {number + 1}",
            "about": (document.source or "").replace("_", " "),
            "answer": document.answer,
            "share": likely.get(groups[number], 0.0),
            "used": number == instance.used_document,
        }
        for number, document in enumerate(instance.documents)
        if number in groups
    ]
    lines.append(
        {
            "label": "memory",
            "about": "",
            "answer": instance.memory_answer,
            "share": likely.get("M", 0.0),
            "used": instance.group == "M",
        }
    )
    if not any(line["used"] for line in lines):
        lines.append(
            {
                "label": "neither",
                "about": "",
                "answer": instance.predicted_text.strip(),
                "share": instance.predicted_probability,
                "used": True,
            }
        )
    return [line | {"percent": percent(line["share"])} for line in lines]
