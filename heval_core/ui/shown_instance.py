"""One instance on a page: choosing it, its prompt with all highlights, its answer."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from heval_core.evaluation.orders import SORTED_BY
from heval_core.figures.palette import in_order
from heval_core.metrics.shared.cell import KS
from heval_core.records import TECHNIQUE, HEvalError
from heval_core.store.filters import AS_STORED, Filter
from heval_core.store.reader import Reader
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui.grid_controls import How
from heval_core.ui.published_results import query
from heval_core.ui.text import plain
from heval_core.ui.token_grid import Row, blocks_of, token_grid
from heval_core.units import LEVELS
from heval_core.wording import REGIME_TITLES, group_title, number, percent


def choose(results: Reader, chosen: Filter, order: str = AS_STORED, descending: bool = False) -> StoredInstance | None:
    """The instance the link names, or the first under the filter in this order, with buttons to step. None without any."""
    ids = query(results, Reader.instance_ids, chosen, SORTED_BY[order], descending)
    wanted = st.query_params.get("instance")
    before, st.session_state["instance_and_filter"] = st.session_state.get("instance_and_filter"), (wanted, chosen)
    if wanted is not None and wanted not in ids and before is not None and before[0] == wanted and before[1] != chosen:
        # The filter was changed while this instance was open, and it is not among those left.
        del st.query_params["instance"]
        wanted = None
    matching, outside = len(ids), wanted is not None and wanted not in ids
    if wanted is not None and outside:
        try:
            results.instance(wanted)
        except HEvalError:
            st.error(f"The link asks for the instance {plain(wanted[:80])}, which is not in these results.")
            return None
        # A link's instance is shown under any filter; the next and previous ones are inside the filter.
        ids = [wanted, *ids]
    if not ids:
        st.info(
            "No instance is left under these filters; remove one of the chips above, the slice, or the search.",
            icon=":material/filter_alt_off:",
        )
        return None
    position = ids.index(wanted) if wanted in ids else 0
    back, forward, where = st.columns([2, 2, 8], vertical_alignment="center")
    if back.button("Previous", key="previous", shortcut="p", disabled=position == 0):
        _open(ids[position - 1])
    if forward.button("Next", key="next", shortcut="n", disabled=position + 1 >= len(ids)):
        _open(ids[position + 1])
    by = "" if order == AS_STORED else f", by {order}, {'highest' if descending else 'lowest'} first"
    if outside:
        where.caption(f"not one of the {matching:,} instances under these filters")
    else:
        where.caption(f"instance {position + 1:,} of {matching:,}{by}")
    st.session_state["stepping"] = (ids, position)
    return results.instance(ids[position])


def _open(instance_id: str) -> None:
    st.query_params["instance"] = instance_id
    st.rerun()


def origin(group: str) -> str:
    """Where an answer came from, in words and with its group: `from document 2 (group C2)`."""
    key, _, words = group_title(group).partition(": ")
    return f"{words} (group **{plain(key)}**)" if words else f"which makes group **{plain(group)}**"


def caption_of(instance: StoredInstance, index: int) -> str:
    """Of the document with this index, from 0: `document 1 · answer Nairobi · conflicting · source: atlas · used`."""
    document = instance.documents[index]
    parts = [f"document {index + 1}", f"answer {document.answer}", document.kind]
    if document.origin == "substituted":
        parts.append("answer substituted")
    if document.source:
        parts.append(f"source: {document.source.replace('_', ' ')}")
    return " · ".join([*parts, "used"] if index == instance.used_document else parts)


def facts_line(instance: StoredInstance) -> None:
    """The answer, its probability and group, and the candidates it was chosen from."""
    expected = instance.expected_group
    st.markdown(
        f"**{plain(instance.model)}** answers **{plain(instance.predicted_text.strip())}** "
        f"(p = {number(instance.predicted_probability)}), {origin(instance.group)}. "
        f"From memory it says *{plain(instance.memory_answer)}*."
        + (f" The rule it was taught asks for group {plain(expected)}." if expected else "")
    )
    candidates = [f"{plain(c.group)}: {plain(c.text)} {percent(c.probability)}" for c in instance.candidates]
    regime = REGIME_TITLES.get(instance.regime, instance.regime)
    if instance.technique != TECHNIQUE:
        regime = f"{regime} · {plain(instance.technique)}"
    st.caption(f"{plain(instance.dataset)} · {regime} · candidates: {' · '.join(candidates)}")


def rows_of(results: Reader, attributions: dict[str, StoredAttribution], shown: tuple[str, ...] | None = None) -> list[Row]:
    """Grid rows of the stored attributions, methods first; controls only where they are asked for."""
    catalogue = query(results, Reader.catalogue, "explainer").set_index("key")
    rows = []
    for key in in_order(list(attributions)):
        known = catalogue.loc[key] if key in catalogue.index else None
        if (known is not None and known["control"] and shown is None) or (shown is not None and key not in shown):
            continue
        stored = attributions[key]
        title = known["title"] if known is not None else key
        rows.append(Row(key, title, stored.signed, stored.scores, stored.head_name))
    return rows


def prompt_grid(
    instance: StoredInstance,
    rows: list[Row],
    *,
    key: str,
    k: int,
    how: How | None = None,
    on_key: Callable[[str], None] | None = None,
) -> None:
    """Prompt and rows of an instance. on_key: see `token_grid`."""
    spans = [(document.start, document.end) for document in instance.documents]
    captions = [caption_of(instance, index) for index in range(len(spans))]
    question = (instance.question_span.start, instance.question_span.end)
    token_grid(
        instance.tokens,
        blocks_of(len(instance.tokens), spans, question, captions, instance.used_document),
        sorted(instance.answer_tokens),
        rows,
        key=key,
        k=k,
        first_ranked=instance.first_ranked,
        how=how,
        on_key=on_key,
    )


def next_level(control: str) -> None:
    """Set a control of the grid to the next finer or coarser cut."""
    now = st.session_state.get(control, LEVELS[0])
    st.session_state[control] = LEVELS[(LEVELS.index(now) + 1) % len(LEVELS)]


def pressed(key: str) -> None:
    """What a key pressed in the grid does: k and g go through their values, [ and ] through the instances."""
    if key == "k":
        now = st.session_state.get("k", KS[1])
        st.session_state["k"] = KS[(KS.index(now) + 1) % len(KS)] if now in KS else KS[1]
    elif key == "g":
        next_level("level")
    elif key in "[]":
        ids, position = st.session_state.get("stepping", ([], 0))
        target = position + (1 if key == "]" else -1)
        if 0 <= target < len(ids):
            st.query_params["instance"] = ids[target]
