"""Which head does MechLight read, and what would another one say?"""

from dataclasses import replace

import streamlit as st

from heval_core.figures.heads import counts_by_head, head_counts
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui import head_attention, instance_links, page_run, provenance
from heval_core.ui.exports import figure_config, link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.head_ablation import causal_check, signed
from heval_core.ui.head_map import head_at, head_map
from heval_core.ui.published_results import query, reader
from heval_core.ui.shown_instance import choose, facts_line
from heval_core.ui.text import plain
from heval_core.wording import number, percent


def page() -> None:
    st.title("Which head does MechLight read?")
    st.caption(
        "Each square is an attention head: how much more it writes for the answer than for its competitor (S). "
        "MechLight takes the strongest and shows where it looks; pick another one to see what it would have shown, "
        "and what that would change."
    )
    results = reader()
    chosen, k = filter_bar(results, ("model", "dataset", "regime", "group"), metric_k=True)
    instance = choose(results, chosen)
    if instance:
        facts_line(instance)
        chosen_head(results, instance, k)
        st.page_link(
            "pages/instances.py",
            label="All explainers on this instance",
            icon=":material/article:",
            query_params={"instance": instance.instance_id},
        )
        how_often(results, chosen, instance.model)
        link_button(results, {"instance": instance.instance_id})
    provenance.draw(results)


def chosen_head(results: Reader, instance: StoredInstance, k: int) -> None:
    """Map, verdict line, the shown head's attention, and rank and MRR under it beside the chosen head's."""
    attributions = results.attributions(instance.instance_id)
    found = attributions.get("mechlight")
    if found is None or found.chosen_head is None:
        st.info("MechLight was not run on this instance.")
        return
    layers = int(results.models().set_index("model").loc[instance.model, "layers"])
    strengths, chosen, runner_up = found.strengths(layers), found.head_name, str(found.details.get("runner_up", ""))
    answer, foil = sides(instance, found)
    st.markdown(
        f"**{chosen}** chosen: {signed(float(strengths[found.chosen_head]))} for *{plain(answer)}* over "
        f"*{plain(foil)}*; runner-up {runner_up or '–'}, {number(float(found.details.get('margin', 'nan')))} behind."
    )
    left, right = st.columns([3, 5])
    with left:
        shown = head_map(strengths, chosen, runner_up, key=f"heads_{instance.instance_id}")
        st.caption("Pick a square by mouse, or with the arrow keys and Enter. Solid: chosen; dashed: runner-up.")
    with right:
        head_attention.draw(results, instance, found, float(strengths[head_at(shown)]), shown, k)
    contributions(instance)
    causal_check(instance, found, found.chosen_head)


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


def sides(instance: StoredInstance, found: StoredAttribution) -> tuple[str, str]:
    """The answer given and its competitor, as texts."""
    foil = str(found.details.get("foil", ""))
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
    event = st.plotly_chart(
        head_counts(table), key="head_counts", width="content", on_select="rerun", selection_mode="points",
        config=figure_config(),
    )  # fmt: skip
    head = next(iter(instance_links.clicked(event)), "")
    if head:
        own = replace(chosen, model=(model,), head=str(head))
        instance_links.link_to(f"Open the instances of {model} in which {head} was chosen", own)
    else:
        st.caption("Click a square to get to the instances in which that head was chosen.")


page_run.through_app()
page()
