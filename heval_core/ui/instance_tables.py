"""What stands below an instance: its answers under other techniques, and the numbers behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from heval_core.figures.palette import in_order
from heval_core.metrics._features import TARGETS
from heval_core.metrics.shared.measure import PROTECTED
from heval_core.plugins.measures import measures
from heval_core.present.html import plain
from heval_core.records import TECHNIQUE
from heval_core.records.groups import document_of
from heval_core.records.stored_instances import StoredAttribution, StoredInstance
from heval_core.statistics.scores import average_ranks
from heval_core.store.reader import Reader
from heval_core.ui import listing
from heval_core.ui.published_results import names_of, query
from heval_core.ui.reading import ReadingRow

TIED = "Tied scores"


def scores_table(results: Reader, instance_id: str, attributions: dict[str, StoredAttribution], k: int) -> None:
    """Draw one row per explainer: the share of tied scores, then each metric with its chance level in the column's name."""
    names = {measure.metric: measure.instance_title for measure in measures().values() if measure.instance_title}
    # What an instance adds to the value of a cell only, and says nothing by itself, has no title.
    scores = results.scores(instance_id).query("k in (0, @k) and metric in @names.keys()")
    titled = [
        f"{names[s.metric].format(k=s.k, part=part_in_words(s.part))} (chance {s.chance:.2f})" for s in scores.itertuples()
    ]
    scores = scores.assign(column=titled).sort_values("metric", key=lambda keys: keys.map(list(names).index), kind="stable")
    table = scores.pivot(index="explainer", columns="column", values="value")
    table = table.reindex(in_order(list(attributions)))[list(dict.fromkeys(scores["column"]))]
    table.insert(0, TIED, [attributions[key].tied for key in table.index])
    table.index = pd.Index([names_of(results).title("explainer", key) for key in table.index], name="explainer")
    st.subheader("How each explainer does here")
    st.dataframe(table.round(3), width="stretch")
    st.caption(
        "Tied scores: share of the ranked tokens that have the same score as another; their order says nothing. Rank@k: "
        "mean rank of a document's best k tokens, 1 is the top. Reciprocal rank: of the answer's best token. "
        "Comprehensiveness and sufficiency: nats the answer loses without the best tokens, or with only them (all: "
        "mean over replacements)."
    )


def part_in_words(part: str) -> str:
    """Return a part of a metric as readers call it: `document 2`, `all, question protected`."""
    if part.endswith(PROTECTED):
        return f"{part.removesuffix(PROTECTED)}, question protected"
    if part.endswith(TARGETS[1]):
        return f"{part_in_words(part.removesuffix(TARGETS[1]))}, target held fixed"
    document = document_of(part.upper())
    return part if document is None else "the document" if part.upper() == "C" else f"document {document + 1}"


def tokens_of(instance: StoredInstance, rows: Sequence[ReadingRow]) -> pd.DataFrame:
    tokens, gold = instance.tokens, instance.answer_tokens
    ranked = np.isin(np.arange(len(tokens)), instance.ranked)

    parts = ["question" if one else "not ranked" for one in ranked]
    for number, document in enumerate(instance.documents, start=1):
        parts[document.start : document.end] = [f"document {number}"] * (document.end - document.start)
    columns: dict[str, list[Any]] = {
        "number": list(range(1, len(tokens) + 1)),
        "token": list(tokens),
        "in": parts,
        "answer": [index in gold for index in range(len(tokens))],
    }
    for row in rows:
        ranks = average_ranks(np.asarray(row.scores)[None], ranked[None])[0]
        columns[f"rank, {row.title}"] = list(ranks)
        columns[f"score, {row.title}"] = [round(float(value), 6) for value in row.scores]
    return pd.DataFrame(columns)


_LONGEST = 4000


def draw_answers(results: Reader, instance: StoredInstance) -> None:
    """Draw a button for each technique's answer, which leads to that instance; nothing where there was only one technique."""
    answers = query(results, Reader.behaviour_of, instance.instance_id)
    if len(answers) > 1:
        _strip(results, instance, answers)
    rows = answers[answers["instance_id"] == instance.instance_id]
    trace = rows["trace"].iloc[0] if len(rows) else None
    if isinstance(trace, str) and trace:
        _trace(trace)


def _strip(results: Reader, instance: StoredInstance, answers: pd.DataFrame) -> None:
    names = names_of(results)
    with st.container(key="under_techniques", horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown("**Answers under techniques**", width="content")
        for row in answers.to_dict("records"):
            title, text = names.technique(row["technique"]), str(row["predicted_text"] or "").strip()
            here = row["instance_id"] == instance.instance_id
            mark = "" if pd.isna(row["bcu"]) else "✓" if row["bcu"] == 1 else "✗"
            st.button(
                f"{plain(title)}: **{plain(text)}** {mark}",
                key=f"under_{row['instance_id']}",
                type="primary" if here else "secondary",
                help=_bcu_in_words(row),
                on_click=listing.show_instance,
                args=(str(row["instance_id"]),),
                kwargs={"technique": None if row["technique"] == TECHNIQUE else row["technique"]},  # the list is of one
            )


def _bcu_in_words(row: dict[str, Any]) -> str:
    if pd.isna(row["bcu"]):
        return "No BCU: metrics leave this answer out."
    verdict = "what" if row["bcu"] == 1 else "not what"
    return f"BCU {row['bcu']:.0f}: the answer is {verdict} this kind of context asks for."


def _trace(trace: str) -> None:
    """Show plain text, whatever a model wrote."""
    box = st.expander("What was asked and answered before this answer", key="trace", on_change="rerun")
    if box.open:
        with box:
            for number, step in enumerate(steps_of(trace), start=1):
                st.caption(f"Call {number}")
                st.code(step[:_LONGEST], language=None, wrap_lines=True)


def steps_of(trace: str) -> list[str]:
    """Return each step of a trace, a line for each thing that it says; what is no JSON list is one step."""
    try:
        parsed = json.loads(trace)
    except ValueError:
        return [trace]
    steps = parsed if isinstance(parsed, list) else [parsed]
    return [
        "\n".join(f"{name}: {value}" for name, value in step.items()) if isinstance(step, dict) else str(step)
        for step in steps
    ]
