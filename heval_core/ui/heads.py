"""MechLight's heads: what each adds, what another would point at, whether the answer needs them, how often each is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import streamlit as st

from heval_core.figures.plots import head_counts
from heval_core.lm.installed import installed
from heval_core.present.html import plain
from heval_core.present.names import model_title
from heval_core.present.numbers import SHARE, change, interval, number, ordinal, percent
from heval_core.prompt_service.client import HeadsRequest, ask, asked_as_stored
from heval_core.records import HEvalError, head_name
from heval_core.records.stored_instances import StoredInstance
from heval_core.statistics.values import Sums
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.marks import draw_plotly
from heval_core.ui.published_results import query
from heval_core.ui.reading import Phrase, ReadingRow, answer_of, answer_ranks

# Heads that are named beside the strip, and ringed in the map; and below what share of the lead a loss is hardly one.
NAMED, HARDLY = 5, 0.1
# How it is computed what the answer needs of a head (`lm/path_patching.py`); and what plain ablation gave in a trial.
SAME = "all other heads kept as they were"
PLAIN = "Where later heads may change too (plain ablation), it was 47 % [33, 63] of 40 answers of SmolLM2, beside 60 % so."


@dataclass(frozen=True)
class HeadMap:
    """strengths: (layers, heads), how much more each adds to the answer's logit than to its competitor's."""

    strengths: np.ndarray
    chosen: str
    runner_up: str
    foil: str

    @property
    def names(self) -> list[str]:
        layers, heads = self.strengths.shape
        return [head_name(layer, head) for layer in range(layers) for head in range(heads)]

    def of(self, name: str) -> float:
        return float(self.strengths[head_at(name)])


def head_at(name: str) -> tuple[int, int]:
    """Return layer and index of a head: `L2H1` ▶ (2, 1)."""
    layer, head = name[1:].split("H")
    return int(layer), int(head)


def picked_row(results: Reader | None, instance: StoredInstance, name: str) -> ReadingRow | str:
    """Return the attention of a head as a row of the surface; a sentence where it was not kept and the model is not here."""
    layer, head = head_at(name)
    scores = results.head_attention(instance.instance_id, layer, head) if results else None
    if scores is None:
        try:
            with st.spinner("Asking the model for its heads; the first time it has to be loaded …"):
                scores = _ask_model(instance, {"op": "heads"})[layer][head]
        except HEvalError as error:
            return f"The attention of {name} was not kept for this instance (--keep-heads), and cannot be computed. {error}"
    about = "Where the head that you picked looks from the last token."
    return ReadingRow(name, f"head {name}", False, scores, about=about, picked=True)


def _identity(instance: StoredInstance) -> tuple[str, ...]:
    """Return what tells instances apart: other results may have one of the same id, of another revision."""
    return instance.instance_id, instance.model, instance.revision, instance.prompt, str(instance.predicted_id)


@st.cache_data(max_entries=16, show_spinner=False, hash_funcs={StoredInstance: _identity})
def _ask_model(instance: StoredInstance, request: dict[str, Any]) -> Any:
    """Return what the model answers about an instance.

    Raises HEvalError where it is not there, or answers otherwise than stored.
    """
    model = str(installed(instance.model, instance.revision))
    about = {"model": model, "prompt": instance.prompt, "template": instance.template}
    return ask(cast(HeadsRequest, {**request, **about, "expected": asked_as_stored(instance)}))


def with_map(
    results: Reader | None, instance: StoredInstance, heads: HeadMap | None, rows: list[ReadingRow], pick: str
) -> tuple[list[ReadingRow], dict[str, Any] | None]:
    """Return the rows with a picked head's, and what the surface draws of all heads. results: None of one's own prompt.

    Where it was not stored what the answer needs of each, the model can be asked.
    """
    if heads is None:
        return rows, None
    picked = picked_row(results, instance, pick) if pick else None
    rows = [*rows, picked] if isinstance(picked, ReadingRow) else rows
    refused, need = picked if isinstance(picked, str) else "", results and results.head_need(instance.instance_id)
    foils = {candidate.group: candidate for candidate in instance.candidates}
    foil = foils.get(heads.foil.removeprefix("candidate "))
    answer, against = answer_of(instance), foil.text if foil else heads.foil
    if need is None and foil is not None and address.value("need") == "true":
        try:
            with st.spinner("Asking the model without each of its heads; the first time it has to be loaded …"):
                need = _ask_model(instance, {"op": "need", "answer": instance.predicted_id, "foil": foil.token_id})
        except HEvalError as error:
            refused = str(error)
    lead = f"{pick} instead of {heads.chosen}" if pick else f"{heads.chosen} chosen"
    text: Phrase = [("b", lead), ("", f": {change(heads.of(pick or heads.chosen))} for "), ("i", answer)]
    text += [("", " over "), ("i", against)]
    second = f"; runner-up {heads.runner_up} (dashed) {change(heads.of(heads.runner_up))}" if heads.runner_up else ""
    no_pick: Phrase = [("", f"{second}. Pick any square to see where it looks.")]
    text += _of_picked(instance, heads, rows, pick, answer) if pick else no_pick
    return rows, {
        "strengths": [[round(float(value), 4) for value in layer] for layer in heads.strengths],
        "chosen": heads.chosen,
        "runner_up": heads.runner_up,
        "picked": pick,
        "side": f"for {answer} over {against}",
        "told": text,
        "can_ask": foil is not None and need is None,
        "need": need and need_data(heads, need["lead"], np.ravel(need["lost"])),
        "refused": refused,
    }


def _of_picked(instance: StoredInstance, heads: HeadMap, rows: list[ReadingRow], pick: str, answer: str) -> Phrase:
    """Compare the picked head with the chosen one: in S, and in the rank of the answer."""
    pieces: Phrase = [("", f", {number(heads.of(heads.chosen) - heads.of(pick))} less than the chosen head.")]
    ranks = answer_ranks(instance, [row for row in rows if row.picked or row.explainer == "mechlight"])
    if pick in ranks and "mechlight" in ranks:
        pieces += [("", " It would put "), ("i", answer), ("", f" {ordinal(ranks[pick])}, not {ordinal(ranks['mechlight'])}.")]
    return pieces


def need_data(heads: HeadMap, lead: float, lost: np.ndarray) -> dict[str, Any]:
    """Return what the answer's lead loses without each head: a dot each, the largest losses named.

    lost: in the order of names.
    """
    losses = {name: float(loss) for name, loss in zip(heads.names, lost, strict=True)}
    of_chosen = losses[heads.chosen]
    more = sum(loss > of_chosen for loss in losses.values())
    largest = [name for name in sorted(losses, key=lambda name: -losses[name])[:NAMED] if losses[name] > 0]
    verdict = "No" if of_chosen <= 0 else "Hardly" if of_chosen < HARDLY * abs(lead) else "Partly" if more else "Yes"
    pieces: Phrase = [
        ("b", f"{verdict}:"),
        ("", f" without {heads.chosen}, {SAME}, the lead goes from {number(lead)} to {number(lead - of_chosen)}. "),
    ]
    cost = "head costs" if more == 1 else "heads cost"
    pieces.append(("", f"{more:,} other {cost} more. " if more else "No other head costs as much. "))
    if largest:
        named = ", ".join(f"{name} {number(losses[name])}" for name in largest)
        pieces += [("", f"{'Most' if len(largest) > 1 else 'Only'}: "), ("", named)]
    return {"told": pieces, "lost": [[name, round(loss, 4)] for name, loss in losses.items()], "most": largest}


def draw_counts(results: Reader, chosen: Filter, model: str) -> None:
    """Draw a square for each head of a model under the filter."""
    counts = query(results, Reader.chosen_heads, chosen)
    counts = counts[counts["model"] == model]
    if counts.empty:
        st.caption("MechLight was run on no instance under these filters.")
        return
    row = results.models().set_index("model").loc[model]
    table = np.zeros((int(row["layers"]), int(row["heads"])))
    table[counts["layer"], counts["head"]] = counts["instances"]
    top_head = counts.iloc[0]
    st.markdown(
        f"Of {int(table.sum()):,} instances of {plain(model_title(model))} under these filters, "
        f"**{head_name(top_head['layer'], top_head['head'])}** was chosen in {percent(top_head['instances'] / table.sum())}; "
        f"{int((table > 0).sum())} of {table.size} heads were chosen at all."
    )

    needs = query(results, Reader.needed_most, replace(chosen, model=(model,)), heads=table.shape[1])
    if len(needs):
        share = Sums(needs["most"].to_numpy(float), needs["n"].to_numpy(float), ends=(0.0, 1.0)).bounded()
        often = plain(interval(share.value, *share.interval(), SHARE))
        always = percent(needs["heads"].explode().value_counts().max() / share.n)
        st.markdown(
            f"In {often} of {share.n:,} answers ({len(needs):,} questions) the answer needs the chosen head most, {SAME}. "
            f"Always one head: {always} at best. {PLAIN}"
        )

    def pick(id: Sequence[str]) -> None:
        if id:
            address.put(model=model, head=id[0], instance=None, more=None)

    draw_plotly(results, head_counts(table), "head_counts", "How often each head was chosen", pick, width="content")
    st.caption("Click a square to get to the instances in which that head was chosen.")
