"""The head page: S of every head, the attention of the one that is shown, and what choosing it would change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from heval_core.metrics.mrr import reciprocal_rank
from heval_core.metrics.rank_at_k import rank_at_k
from heval_core.records import HEvalError
from heval_core.store.reader import Reader
from heval_core.ui.head_map import head_map
from heval_core.ui.instance_view import details_of, prompt_grid, strengths_of
from heval_core.ui.text import number, plain
from heval_core.ui.token_grid import Row
from heval_core.ui.worker import installed_models, worker


def draw(results: Reader, instance: dict[str, Any], k: int) -> None:
    """Map, verdict line, the shown head's attention, and rank and MRR under it beside the chosen head's."""
    attributions = results.attributions(instance["instance_id"])
    if "mechlight" not in attributions:
        st.info("MechLight was not run on this instance.")
        return
    found = attributions["mechlight"]
    layers = int(results.models().set_index("model").loc[instance["model"], "layers"])
    strengths, details = strengths_of(found, layers), details_of(found)
    chosen, runner_up = f"L{found['layer']}H{found['head']}", str(details.get("runner_up", ""))
    answer, foil = _sides(instance, details)
    st.markdown(
        f"**{chosen}** chosen: {_signed(strengths[found['layer'], found['head']])} for *{plain(answer)}* over "
        f"*{plain(foil)}*; runner-up {runner_up or '–'}, {number(details.get('margin'))} behind."
    )
    left, right = st.columns([3, 5])
    with left:
        shown = head_map(strengths, chosen, runner_up, key=f"heads_{instance['instance_id']}")
        st.caption("Pick a square by mouse, or with the arrow keys and Enter. Solid: chosen; dashed: runner-up.")
    with right:
        _attention(results, instance, found, strengths, chosen, shown, k)


def _attention(
    results: Reader,
    instance: dict[str, Any],
    found: dict[str, Any],
    strengths: np.ndarray,
    chosen: str,
    shown: str,
    k: int,
) -> None:
    layer, head = (int(number) for number in shown[1:].split("H"))
    rows = [Row("mechlight", "MechLight", False, found["scores"], chosen)]
    if shown != chosen:
        attention = attention_of(results, instance, layer, head)
        if attention is None:
            return
        rows.insert(0, Row(shown, f"Attention of {shown}", False, attention))
        st.markdown(f"{shown} would be {_signed(strengths[layer, head])} for the answer given.")
    prompt_grid(instance, rows, key=f"head_grid_{instance['instance_id']}", k=k)
    st.dataframe(effects(instance, rows, k), width="stretch")
    st.caption("Rank@k counts from 1, the top. Chance is what random scores get on average for this prompt.")


def attention_of(results: Reader, instance: dict[str, Any], layer: int, head: int) -> list[float] | None:
    """A head's attention: as stored, else from the model itself in the worker. None, with a sentence, where neither is."""
    stored = results.head_attention(instance["instance_id"], layer, head)
    if stored is not None:
        return stored
    model = installed_models().get(instance["model"])
    if model is None:
        st.info(
            f"The attention of L{layer}H{head} was not kept for this instance, and the model is not installed here. "
            "Run the batch with --keep-heads, or set HEVAL_MODELS."
        )
        return None
    kept = st.session_state.setdefault("heads_of", {})
    if instance["instance_id"] not in kept:
        with st.spinner("Asking the model for its heads; the first time it has to be loaded …"):
            try:
                kept.clear()
                kept[instance["instance_id"]] = worker().ask(
                    {"op": "heads", "model": str(model), "prompt": instance["prompt"]}
                )
            except HEvalError as error:
                st.error(plain(str(error)))
                return None
    return list(kept[instance["instance_id"]][layer][head])


def effects(instance: dict[str, Any], rows: list[Row], k: int) -> pd.DataFrame:
    """Rank@k of each document and the reciprocal rank of its answer, for each row of scores and by chance."""
    first = instance["first_ranked"]
    table: dict[str, dict[str, float]] = {}
    for row in rows:
        scores = np.asarray(row.scores)[first:]
        column: dict[str, float] = {}
        chance: dict[str, float] = {}
        for number_of, (start, end) in enumerate(
            zip(instance["document_starts"], instance["document_ends"], strict=True), start=1
        ):
            found = rank_at_k(scores, (start - first, end - first), k)
            column[f"Rank@{k} of document {number_of}"], chance[f"Rank@{k} of document {number_of}"] = found
            gold = reciprocal_rank(scores, [t - first for t in instance["answer_tokens"][number_of - 1]])
            name = f"Reciprocal rank of answer {number_of}"
            column[name], chance[name] = gold
        table[row.title] = column
        table["chance"] = chance
    return pd.DataFrame(table).round(3)


def _sides(instance: dict[str, Any], details: dict[str, Any]) -> tuple[str, str]:
    """The answer given and its competitor, as texts."""
    foil = str(details.get("foil", ""))
    names = dict(zip(instance["candidate_groups"], instance["candidate_texts"], strict=True))
    group = foil.removeprefix("candidate ")
    return instance["predicted_text"].strip(), names.get(group, foil)


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.2f}"
