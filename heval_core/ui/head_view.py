"""The head page: S of every head, the attention of the one that is shown, and what choosing it would change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from heval_core.figures.heads import head_counts
from heval_core.metrics.mrr import reciprocal_rank
from heval_core.metrics.rank_at_k import rank_at_k
from heval_core.prompt_service.client import ask
from heval_core.prompt_service.installed import installed
from heval_core.prompt_service.messages import Ablate, asked_as_stored
from heval_core.records import HEvalError
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui import behind
from heval_core.ui.exports import figure_config
from heval_core.ui.head_map import head_map
from heval_core.ui.instance_view import prompt_grid
from heval_core.ui.results import query
from heval_core.ui.text import plain
from heval_core.ui.token_grid import Row
from heval_core.wording import number, percent


def draw(results: Reader, instance: StoredInstance, k: int) -> None:
    """Map, verdict line, the shown head's attention, and rank and MRR under it beside the chosen head's."""
    attributions = results.attributions(instance.instance_id)
    found = attributions.get("mechlight")
    if found is None or found.chosen_head is None:
        st.info("MechLight was not run on this instance.")
        return
    layers = int(results.models().set_index("model").loc[instance.model, "layers"])
    strengths, chosen, runner_up = found.strengths(layers), found.head_name, str(found.details.get("runner_up", ""))
    answer, foil = _sides(instance, found)
    st.markdown(
        f"**{chosen}** chosen: {_signed(float(strengths[found.chosen_head]))} for *{plain(answer)}* over "
        f"*{plain(foil)}*; runner-up {runner_up or '–'}, {number(float(found.details.get('margin', 'nan')))} behind."
    )
    left, right = st.columns([3, 5])
    with left:
        shown = head_map(strengths, chosen, runner_up, key=f"heads_{instance.instance_id}")
        st.caption("Pick a square by mouse, or with the arrow keys and Enter. Solid: chosen; dashed: runner-up.")
    with right:
        _attention(results, instance, found, strengths, chosen, shown, k)
    _contributions(instance)
    causal_check(instance, found, found.chosen_head)


def _contributions(instance: StoredInstance) -> None:
    """What each candidate's logit is: what the heads' contributions add up to, with everything else."""
    with st.expander("The candidates' logits"):
        st.dataframe(
            pd.DataFrame(
                {
                    "group": [candidate.group for candidate in instance.candidates],
                    "answer": [candidate.text for candidate in instance.candidates],
                    "logit": [round(candidate.logit, 3) for candidate in instance.candidates],
                    "probability": [round(candidate.probability, 3) for candidate in instance.candidates],
                }
            ),
            hide_index=True,
        )
        st.caption("S of a head is how much more it adds to the answer's logit than to its competitor's.")


def _attention(
    results: Reader,
    instance: StoredInstance,
    found: StoredAttribution,
    strengths: np.ndarray,
    chosen: str,
    shown: str,
    k: int,
) -> None:
    layer, head = (int(number) for number in shown[1:].split("H"))
    rows = [Row("mechlight", "MechLight", found.signed, found.scores, chosen)]
    if shown != chosen:
        attention = attention_of(results, instance, layer, head)
        if attention is None:
            return
        rows.insert(0, Row(shown, f"Attention of {shown}", False, attention))
        st.markdown(f"{shown} would be {_signed(strengths[layer, head])} for the answer given.")
    prompt_grid(instance, rows, key=f"head_grid_{instance.instance_id}", k=k)
    st.dataframe(effects(instance, rows, k), width="stretch")
    st.caption("Rank@k counts from 1, the top. Chance is what random scores get on average for this prompt.")


def causal_check(instance: StoredInstance, found: StoredAttribution, head: tuple[int, int]) -> None:
    """Ask the model itself: what is left of the answer's lead without the head that MechLight chose, beside random heads?"""
    st.subheader("Does the answer need this head?")
    st.caption(
        "MechLight says which head speaks for the answer. Here the model is run again without it: its output set "
        "to nothing, or to its mean "
        "over the prompt, and the same for ten random heads. A head that matters takes away more of the answer's "
        "lead than they do."
    )
    try:
        model = installed(instance.model, instance.revision)
    except HEvalError as error:
        st.info(plain(str(error)))
        return
    ids = {candidate.group: candidate.token_id for candidate in instance.candidates}
    foil = str(found.details.get("foil", "")).removeprefix("candidate ")
    if foil not in ids:
        st.info("MechLight had no competing candidate here, so there is no lead to measure.")
        return
    if not st.button("Ablate the chosen head", key="ablate", icon=":material/science:"):
        return
    request: Ablate = {
        "op": "ablate",
        "model": str(model),
        "prompt": instance.prompt,
        "head": list(head),
        "answer": instance.predicted_id,
        "foil": ids[foil],
        "expected": asked_as_stored(instance),
    }
    try:
        with st.spinner("Asking the model; the first time it has to be loaded …"):
            result = ask(request)
    except HEvalError as error:
        st.error(plain(str(error)))
        return
    st.markdown(_causal_sentence(result, found.head_name))
    st.dataframe(ablations(result, found.head_name), hide_index=True)


def _causal_sentence(result: dict[str, Any], name: str) -> str:
    lost = {how: result["whole"] - result[how]["chosen"] for how in ("zero", "mean")}
    others = {how: [result["whole"] - one for one in result[how]["random"]] for how in ("zero", "mean")}
    beaten = sum(lost["mean"] > one for one in others["mean"])
    return (
        f"The answer leads by {_signed(result['whole'])} logits. Without {name} it loses {_signed(lost['zero'])} "
        f"(set to nothing) or "
        f"{_signed(lost['mean'])} (set to its mean), more than {beaten} of {len(others['mean'])} random heads set "
        f"to their mean."
    )


def ablations(result: dict[str, Any], name: str) -> pd.DataFrame:
    """The lead without each head, both ways; the chosen head first."""
    heads = [name, *(f"L{layer}H{head}" for layer, head in result["random_heads"])]
    return pd.DataFrame(
        {
            "head": heads,
            "lead, set to nothing": [result["zero"]["chosen"], *result["zero"]["random"]],
            "lead, set to its mean": [result["mean"]["chosen"], *result["mean"]["random"]],
            "with all heads": [result["whole"]] * len(heads),
        }
    ).round(3)


def how_often(results: Reader, chosen: Filter, model: str) -> None:
    """How often MechLight chose each head of a model under the filter."""
    counts = query(results, Reader.chosen_heads, chosen)
    counts = counts[counts["model"] == model]
    if counts.empty:
        return
    st.subheader("Which heads does it choose?")
    row = results.models().set_index("model").loc[model]
    table = np.zeros((int(row["layers"]), int(row["heads"])))
    for one in counts.itertuples():
        table[one.layer, one.head] = one.instances
    most = counts.iloc[0]
    st.markdown(
        f"Of {int(table.sum()):,} instances of {plain(model)} under these filters, "
        f"**L{most['layer']}H{most['head']}** was chosen in "
        f"{percent(most['instances'] / table.sum())}; {int((table > 0).sum())} of {table.size} heads were chosen at all."
    )
    event = st.plotly_chart(
        head_counts(table), key="head_counts", width="content", on_select="rerun", selection_mode="points",
        config=figure_config(),
    )  # fmt: skip
    head = next(iter(behind.clicked(event)), "")
    if head:
        own = replace(chosen, model=(model,), head=str(head))
        behind.link_to(f"Open the instances of {model} in which {head} was chosen", own)
    else:
        st.caption("Click a square to get to the instances in which that head was chosen.")


def attention_of(results: Reader, instance: StoredInstance, layer: int, head: int) -> list[float] | None:
    """A head's attention: as stored, else from the model itself in the worker. None, with a sentence, where neither is."""
    stored = results.head_attention(instance.instance_id, layer, head)
    if stored is not None:
        return stored
    try:
        model = installed(instance.model, instance.revision)
    except HEvalError as error:
        st.info(f"The attention of L{layer}H{head} was not kept for this instance; the batch does with --keep-heads. "
                + plain(str(error)))  # fmt: skip
        return None
    kept = st.session_state.setdefault("heads_of", {})
    if instance.instance_id not in kept:
        with st.spinner("Asking the model for its heads; the first time it has to be loaded …"):
            try:
                kept.clear()
                kept[instance.instance_id] = ask(
                    {"op": "heads", "model": str(model), "prompt": instance.prompt,
                     "expected": asked_as_stored(instance)}
                )  # fmt: skip
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
            found = rank_at_k(scores, (document.start - first, document.end - first), k)
            column[f"Rank@{k} of document {number_of}"], chance[f"Rank@{k} of document {number_of}"] = found
            gold = reciprocal_rank(scores, [token - first for token in document.answer_tokens])
            name = f"Reciprocal rank of answer {number_of}"
            column[name], chance[name] = gold
        table[row.title] = column
        table["chance"] = chance
    return pd.DataFrame(table).round(3)


def _sides(instance: StoredInstance, found: StoredAttribution) -> tuple[str, str]:
    """The answer given and its competitor, as texts."""
    foil = str(found.details.get("foil", ""))
    names = {candidate.group: candidate.text for candidate in instance.candidates}
    return instance.predicted_text.strip(), names.get(foil.removeprefix("candidate "), foil)


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.2f}"
