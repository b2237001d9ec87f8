"""Is it faithful to the model, and is the faithful one right?"""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.figures.accuracy import scatter
from heval_core.figures.replacements import advantage, parts_of, table_of
from heval_core.metrics import best_of, measures_of
from heval_core.metrics.shared.measure import QUESTION_PROTECTED
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, instance_links, measured_cells, picked, verdicts
from heval_core.ui.faithful_points import accuracies, faithful_and_right, faithfulness_measure
from heval_core.ui.names import controls_of, titles_of
from heval_core.ui.published_results import query

TITLE = "Is it faithful, and does faithful mean right?"


def replacements(results: Reader, chosen: Filter, protected: bool) -> None:
    """The table and the sentence; nothing where faithfulness was not measured. protected: whether the question is."""
    metrics = [measure.metric for measure in measures_of("faithfulness").values() if not measure.variant_of]
    frames = {metric: parts_of(query(results, Reader.cells, chosen, metric, 0), protected) for metric in metrics}
    if all(frame.empty for frame in frames.values()):
        return
    controls = controls_of(results)
    st.subheader("By replacement")
    advantages = {metric: advantage(frame, controls, best_of(metric, "all") == "low") for metric, frame in frames.items()}
    measured = {metric: known for metric, known in advantages.items() if known is not None}
    if measured:
        st.markdown(verdicts.of_replacements(measured))
    st.dataframe(table_of(frames, titles_of(results)).round(3), width="stretch")
    which = "Only tokens of the documents are taken out." if protected else "Any token may be taken out, the question's too."
    st.caption(f"Nats, means over the cells. {which} Bars and dots on this page are of the mean over the three.")


def faithful_or_right(results: Reader, chosen: Filter, k: int, protected: bool) -> None:
    """The scatter, its rank correlation, and a way to the instances of a dot."""
    st.subheader("Does faithful mean right?")
    names = list(accuracies())
    accuracy = address.one_of("Accuracy", names, "accuracy")
    points, faithfulness = faithful_and_right(results, chosen, accuracy, k, protected), faithfulness_measure(protected)
    if points.empty:
        st.info(
            "No cell has both faithfulness and this accuracy; run the batch job with "
            f"{faithfulness.needs}, and publish again.",
            icon=":material/scatter_plot:",
        )
        return
    st.markdown(verdicts.of_faithfulness(points, controls_of(results)))
    x_title = f"{faithfulness.title.lower()} above the random control, {faithfulness.unit}"
    dots = scatter(points, titles_of(results), x_title, f"{accuracy}, normalised: 0 is chance")
    instance_links.offer_cell(
        picked.figure(dots, "faithful_and_right"), chosen, accuracies()[accuracy], titles_of(results, "dataset")
    )


def draw(results: Reader, chosen: Filter, chips: DeltaGenerator) -> None:
    """The measures of faithfulness, by replacement, and beside accuracy."""
    measure, k = measured_cells.draw(results, chosen, "faithfulness", chips)
    protected = measure.switch == QUESTION_PROTECTED
    replacements(results, chosen, protected)
    faithful_or_right(results, chosen, k, protected)
