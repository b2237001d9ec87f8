"""Ask the model itself whether its answer needs the head that MechLight chose, beside random heads."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from heval_core.prompt_service.client import ask
from heval_core.prompt_service.installed import installed
from heval_core.prompt_service.messages import Ablate, asked_as_stored
from heval_core.records import HEvalError
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui.text import plain


def causal_check(instance: StoredInstance, mechlight: StoredAttribution, head: tuple[int, int]) -> None:
    """How much of the answer's lead is left without the head that MechLight chose, beside random heads?"""
    st.subheader("Does the answer need this head?")
    st.caption(
        "MechLight says which head speaks for the answer. Here the model is run again without it: its output is set to zero, "
        "or to its mean over the prompt. The same is done for ten random heads. If the head matters, the answer loses more of "
        "its lead without it than without a random head."
    )
    try:
        model = installed(instance.model, instance.revision)
    except HEvalError as error:
        st.info(plain(str(error)))
        return
    ids = {candidate.group: candidate.token_id for candidate in instance.candidates}
    foil = str(mechlight.details.get("foil", "")).removeprefix("candidate ")
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
    st.markdown(_causal_sentence(result, mechlight.head_name))
    st.dataframe(ablations(result, mechlight.head_name), hide_index=True)


def _causal_sentence(result: dict[str, Any], name: str) -> str:
    lost = {how: result["whole"] - result[how]["chosen"] for how in ("zero", "mean")}
    others = [result["whole"] - lead for lead in result["mean"]["random"]]
    beaten = sum(lost["mean"] > loss for loss in others)
    return (
        f"The answer leads by {signed(result['whole'])} logits. Without {name} it loses {signed(lost['zero'])} (set to zero) "
        f"or {signed(lost['mean'])} (set to its mean), more than {beaten} of {len(others)} random heads set to their mean."
    )


def ablations(result: dict[str, Any], name: str) -> pd.DataFrame:
    """The lead without each head, both ways; the chosen head first."""
    heads = [name, *(f"L{layer}H{head}" for layer, head in result["random_heads"])]
    return pd.DataFrame(
        {
            "head": heads,
            "lead, set to zero": [result["zero"]["chosen"], *result["zero"]["random"]],
            "lead, set to its mean": [result["mean"]["chosen"], *result["mean"]["random"]],
            "with all heads": [result["whole"]] * len(heads),
        }
    ).round(3)


def signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.2f}"
