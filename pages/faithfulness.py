"""Is it faithful to the model, and is the faithful one right?"""

import streamlit as st

from heval_core.figures.accuracy import scatter
from heval_core.figures.replacements import advantage, table_of
from heval_core.metrics import best_of, measures_of
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import instance_links, measured_cells, page_run, provenance, verdicts
from heval_core.ui.explainers import controls_of, titles_of
from heval_core.ui.exports import figure_config, link_button
from heval_core.ui.faithful_points import accuracies, faithful_and_right, faithfulness_measure
from heval_core.ui.filters import filter_bar
from heval_core.ui.published_results import query, reader


def page() -> None:
    st.title("Is it faithful, and does faithful mean right?")
    st.caption(
        "Faithfulness asks the model: take out what an explainer points at, and the answer should suffer "
        "(comprehensiveness); keep only that, and it should not (sufficiency). Accuracy asks the world: is the true "
        "origin on top? The two need not agree. Faithfulness is measured of all instances or of the first questions, "
        "as the batch job was asked; n says how many."
    )
    results = reader()
    chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
    measured_cells.draw(results, chosen, k, "faithfulness")
    replacements(results, chosen)
    faithful_or_right(results, chosen, k)
    provenance.draw(results)
    link_button(results)


def replacements(results: Reader, chosen: Filter) -> None:
    """The table and the sentence; nothing where faithfulness was not measured."""
    metrics = [measure.metric for measure in measures_of("faithfulness").values() if measure.needs == "--faithfulness"]
    frames = {metric: query(results, Reader.cells, chosen, metric, 0) for metric in metrics}
    if all(frame.empty for frame in frames.values()):
        return
    controls = controls_of(results)
    st.subheader("By what stands in for a token")
    found = {
        metric: one
        for metric, frame in frames.items()
        if (one := advantage(frame, controls, best_of(metric, "all") == "low")) is not None
    }
    if found:
        st.markdown(verdicts.of_replacements(found))
    st.dataframe(table_of(frames, titles_of(results)).round(3), width="stretch")
    st.caption("Nats, means over the cells. Bars and dots on this page are of the mean over the three.")


def faithful_or_right(results: Reader, chosen: Filter, k: int) -> None:
    """The scatter, its rank correlation, and a way to the instances of a dot."""
    st.subheader("Does faithful mean right?")
    names = list(accuracies())
    accuracy = str(
        st.segmented_control("Accuracy", names, default=names[0], key="accuracy", required=True, bind="query-params")
    )
    points = faithful_and_right(results, chosen, accuracy, k)
    if points.empty:
        st.info("No cell has both faithfulness and this accuracy; run the batch job with --faithfulness, and publish again.",
                icon=":material/scatter_plot:")  # fmt: skip
        return
    faithfulness = faithfulness_measure()
    st.markdown(verdicts.of_faithfulness(points, controls_of(results)))
    event = st.plotly_chart(
        scatter(points, titles_of(results), f"{faithfulness.title.lower()} above the random control, {faithfulness.unit}",
                f"{accuracy}, normalised: 0 is chance"),
        width="stretch", key="faithful_and_right", on_select="rerun", selection_mode="points", config=figure_config(),
    )  # fmt: skip
    instance_links.offer_cell(event, chosen, accuracies()[accuracy])


page_run.through_app()
page()
