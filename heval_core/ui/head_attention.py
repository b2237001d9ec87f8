"""The attention of one head over an instance's prompt, and what reading it would change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from heval_core.metrics.mrr import reciprocal_rank
from heval_core.metrics.rank_at_k import rank_at_k
from heval_core.prompt_service.client import ask
from heval_core.prompt_service.installed import installed
from heval_core.prompt_service.messages import asked_as_stored
from heval_core.records import HEvalError
from heval_core.store.reader import Reader
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui.head_ablation import signed
from heval_core.ui.head_map import head_at
from heval_core.ui.shown_instance import prompt_grid
from heval_core.ui.text import plain
from heval_core.ui.token_grid import Row


def draw(results: Reader, instance: StoredInstance, mechlight: StoredAttribution, strength: float, shown: str, k: int) -> None:
    """The scores of the selected head and of MechLight's head, and the ranks that follow from them."""
    rows = [Row("mechlight", "MechLight", mechlight.signed, mechlight.scores, mechlight.head_name)]
    if shown != mechlight.head_name:
        scores = attention_of(results, instance, *head_at(shown))
        if scores is None:
            return
        rows.insert(0, Row(shown, f"Attention of {shown}", False, scores))
        st.markdown(f"{shown} would be {signed(strength)} for the answer given.")
    prompt_grid(instance, rows, key=f"head_grid_{instance.instance_id}", k=k)
    st.dataframe(effects(instance, rows, k), width="stretch")
    st.caption("Rank@k counts from 1, the top. Chance is what random scores get on average for this prompt.")


def attention_of(results: Reader, instance: StoredInstance, layer: int, head: int) -> list[float] | None:
    """A head's attention: as stored, else from the model itself. None, with a message, if neither is there."""
    stored = results.head_attention(instance.instance_id, layer, head)
    if stored is not None:
        return stored
    try:
        model = installed(instance.model, instance.revision)
    except HEvalError as error:
        st.info(f"The attention of L{layer}H{head} was not kept for this instance (--keep-heads). {plain(str(error))}")
        return None
    kept = st.session_state.setdefault("heads_of", {})
    if instance.instance_id not in kept:
        with st.spinner("Asking the model for its heads; the first time it has to be loaded …"):
            try:
                kept.clear()
                expected = asked_as_stored(instance)
                kept[instance.instance_id] = ask(
                    {"op": "heads", "model": str(model), "prompt": instance.prompt, "expected": expected}
                )
            except HEvalError as error:
                st.error(plain(str(error)))
                return None
    return list(kept[instance.instance_id][layer][head])


def effects(instance: StoredInstance, rows: list[Row], k: int) -> pd.DataFrame:
    """Rank@k of each document and the reciprocal rank of its answer, for each row of scores and by chance."""
    first = instance.first_ranked
    table: dict[str, dict[str, float]] = {}
    for row in rows:
        scores = np.asarray(row.scores)[first:]
        column: dict[str, float] = {}
        chance: dict[str, float] = {}
        for number_of, document in enumerate(instance.documents, start=1):
            rank = rank_at_k(scores, (document.start - first, document.end - first), k)
            column[f"Rank@{k} of document {number_of}"], chance[f"Rank@{k} of document {number_of}"] = rank
            gold = reciprocal_rank(scores, [token - first for token in document.answer_tokens])
            name = f"Reciprocal rank of answer {number_of}"
            column[name], chance[name] = gold
        table[row.title] = column
        table["chance"] = chance
    return pd.DataFrame(table).round(3)
