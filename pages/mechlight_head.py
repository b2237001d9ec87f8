"""Which head does MechLight read, and what would another one say?"""

from dataclasses import replace

import streamlit as st

from heval_core.figures.heads import counts_by_head, head_counts
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui import head_attention, instance_links, picked
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.head_ablation import causal_check, signed
from heval_core.ui.head_map import head_at, head_map
from heval_core.ui.page_run import results_page
from heval_core.ui.published_results import query
from heval_core.ui.shown_instance import choose, facts_line
from heval_core.ui.text import plain
from heval_core.wording import number, percent

TITLE = "Which head does MechLight read?"
ABOUT = (
    "Each square is an attention head; its colour says how much more the head adds to the answer's logit than to its "
    "competitor's (S). MechLight takes the strongest head and shows its attention. Pick another head to see what it would "
    "have shown, and how the ranks would change."
)


def chosen_head(results: Reader, instance: StoredInstance, k: int) -> None:
    """Map, verdict line, the shown head's attention, and rank and MRR under it beside the chosen head's."""
    attributions = results.attributions(instance.instance_id)
    mechlight = attributions.get("mechlight")
    if mechlight is None or mechlight.chosen_head is None:
        st.info("MechLight was not run on this instance.")
        return
    layers = int(results.models().set_index("model").loc[instance.model, "layers"])
    strengths, chosen, runner_up = (
        mechlight.strengths(layers),
        mechlight.head_name,
        str(mechlight.details.get("runner_up", "")),
    )
    answer, foil = sides(instance, mechlight)
    st.markdown(
        f"**{chosen}** chosen: {signed(float(strengths[mechlight.chosen_head]))} for *{plain(answer)}* over "
        f"*{plain(foil)}*; runner-up {runner_up or '–'}, {number(float(mechlight.details.get('margin', 'nan')))} behind."
    )
    left, right = st.columns([3, 5])
    with left:
        shown = head_map(strengths, chosen, runner_up, key=f"heads_{instance.instance_id}")
        st.caption("Pick a square by mouse, or with the arrow keys and Enter. Solid: chosen; dashed: runner-up.")
    with right:
        head_attention.draw(results, instance, mechlight, float(strengths[head_at(shown)]), shown, k)
    contributions(instance)
    causal_check(instance, mechlight, mechlight.chosen_head)


def contributions(instance: StoredInstance) -> None:
    """What each candidate's logit is: what the heads' contributions add up to, with everything else."""
    with st.expander("The candidates' logits"):
        st.dataframe(
            [
                {"group": c.group, "answer": c.text, "logit": round(c.logit, 3), "probability": round(c.probability, 3)}
                for c in instance.candidates
            ],
            hide_index=True,
        )
        st.caption("S of a head is how much more it adds to the answer's logit than to its competitor's.")


def sides(instance: StoredInstance, mechlight: StoredAttribution) -> tuple[str, str]:
    """The answer given and its competitor, as texts."""
    foil = str(mechlight.details.get("foil", ""))
    names = {candidate.group: candidate.text for candidate in instance.candidates}
    return instance.predicted_text.strip(), names.get(foil.removeprefix("candidate "), foil)


def how_often(results: Reader, chosen: Filter, model: str) -> None:
    """How often MechLight chose each head of a model under the filter."""
    counts = query(results, Reader.chosen_heads, chosen)
    counts = counts[counts["model"] == model]
    if counts.empty:
        return
    st.subheader("Which heads does it choose?")
    row = results.models().set_index("model").loc[model]
    table = counts_by_head(counts, int(row["layers"]), int(row["heads"]))
    most = counts.iloc[0]
    st.markdown(
        f"Of {int(table.sum()):,} instances of {plain(model)} under these filters, "
        f"**L{most['layer']}H{most['head']}** was chosen in "
        f"{percent(most['instances'] / table.sum())}; {int((table > 0).sum())} of {table.size} heads were chosen at all."
    )
    head, *_ = picked.figure(head_counts(table), "head_counts", "content") or [""]
    if head:
        of_head = replace(chosen, model=(model,), head=str(head))
        instance_links.link_to(f"Open the instances of {model} in which {head} was chosen", of_head)
    else:
        st.caption("Click a square to get to the instances in which that head was chosen.")


with results_page(TITLE, ABOUT, link=False) as results:
    chosen, k = filter_bar(results, ("model", "dataset", "regime", "group"), metric_k=True)
    instance = choose(results, chosen)
    if instance:
        facts_line(instance)
        chosen_head(results, instance, k)
        instance_links.open_instance("All explainers on this instance", instance.instance_id)
        how_often(results, chosen, instance.model)
        link_button(results, {"instance": instance.instance_id})
