"""What stands below an instance: its answers under other techniques, and the numbers behind it; all as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from heval_core.figures.highlights import instance_page
from heval_core.figures.palette import in_order
from heval_core.groups import document_of
from heval_core.html import plain
from heval_core.metrics import measures
from heval_core.metrics._features import TARGETS
from heval_core.metrics.shared.stored_means import PROTECTED
from heval_core.present.numbers import number
from heval_core.records import TECHNIQUE
from heval_core.statistics.correlation import spearman
from heval_core.statistics.scores import average_ranks
from heval_core.store.reader import Reader
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui import address, listing
from heval_core.ui.exports import download, table_exports
from heval_core.ui.published_results import names_of, query
from heval_core.ui.reading import Row
from heval_core.words import answer_from

TIED = "Tied scores"


def scores_table(results: Reader, instance_id: str, attributions: dict[str, StoredAttribution], k: int) -> None:
    """One row per explainer: the share of tied scores, then each metric with its chance level in the column's name."""
    scores = results.scores(instance_id)
    titled = names_of(results)
    names = {measure.metric: measure.instance_title for measure in measures().values() if measure.instance_title}
    # What an instance adds to the value of a cell only, and says nothing by itself, has no title.
    scores = scores[scores["k"].isin((0, k)) & scores["metric"].isin(list(names))]
    scores = scores.assign(
        column=[
            f"{names[s.metric].format(k=s.k, part=part_in_words(s.part))} (chance {s.chance:.2f})" for s in scores.itertuples()
        ]
    )
    scores = scores.sort_values("metric", key=lambda column: column.map(list(names).index), kind="stable")
    table = scores.pivot(index="explainer", columns="column", values="value")
    table = table.reindex(in_order(list(attributions)))[list(dict.fromkeys(scores["column"]))]
    table.insert(0, TIED, [attributions[key].tied for key in table.index])
    table.index = [titled.title("explainer", key) for key in table.index]
    table.index.name = "explainer"
    st.subheader("How each explainer does here")
    st.dataframe(table.round(3), width="stretch")
    st.caption(
        "Tied scores: share of the ranked tokens that have the same score as another; their order says nothing. Rank@k: "
        "mean rank of a document's best k tokens, 1 is the top. Reciprocal rank: of the answer's best token. "
        "Comprehensiveness and sufficiency: nats the answer loses without the best tokens, or with only them (all: "
        "mean over replacements)."
    )


def part_in_words(part: str) -> str:
    """A part of a metric as readers call it: `document 2`, `all, question protected`."""
    if part.endswith(PROTECTED):
        return f"{part.removesuffix(PROTECTED)}, question protected"
    if part.endswith(TARGETS[1]):
        return f"{part_in_words(part.removesuffix(TARGETS[1]))}, target held fixed"
    document = document_of(part.upper())
    return part if document is None else "the document" if part.upper() == "C" else f"document {document + 1}"


def agreement_table(rows: Sequence[Row], ranked: range, k: int) -> None:
    """Every pair of rows: rank correlation over all tokens, and how many of their k best tokens they share."""
    if len(rows) < 2:
        st.caption("There is one explainer here, and nothing to compare it with.")
        return
    titles = {row.explainer: row.title for row in rows}
    table = agreement(rows, ranked, k).replace({"first": titles, "second": titles})
    st.dataframe(table.round(3), hide_index=True)
    st.caption(
        f"Spearman's rank correlation over the prompt's tokens (0 by chance), and the share of their {k} best tokens that "
        f"two have in common ({number(min(1.0, k / len(ranked)))} by chance)."
    )


def agreement(rows: Sequence[Row], ranked: range, k: int) -> pd.DataFrame:
    """Columns: first, second, spearman, overlap (of the k best, in [0, 1])."""
    ranks = {row.explainer: average_ranks(np.asarray(row.scores)[ranked.start : ranked.stop])[0] for row in rows}
    best = {key: set(np.argsort(of_row, kind="stable")[:k].tolist()) for key, of_row in ranks.items()}
    pairs = [
        (
            first,
            second,
            spearman(ranks[first], ranks[second]),
            len(best[first] & best[second]) / max(1, min(k, len(ranks[first]))),
        )
        for first, second in combinations(ranks, 2)
    ]
    return pd.DataFrame(pairs, columns=["first", "second", "spearman", f"top {k} in common"])


def token_table(results: Reader, instance: StoredInstance, rows: Sequence[Row]) -> None:
    """Every token with its rank and score in every row; sortable, with downloads."""
    table = tokens_of(instance, rows)
    st.dataframe(table, hide_index=True)
    table_exports(results, table, "tokens")


def logits_table(instance: StoredInstance) -> None:
    """What each candidate's logit is: what the heads' contributions add up to, with everything else."""
    lines = [(answer_from(c.group), c.text, round(c.logit, 3), round(c.probability, 4)) for c in instance.candidates]
    st.dataframe(pd.DataFrame(lines, columns=["where from", "answer", "logit", "probability"]), hide_index=True)
    st.caption("Of the first token of each candidate answer. A head's S is how much more it adds to the answer's logit.")


MORE = {"agree": "Do the explainers agree?", "tokens": "Every token's rank and score", "logits": "The candidates' logits"}


def more(results: Reader, instance: StoredInstance, rows: Sequence[Row], k: int, others: Mapping[str, str]) -> str:
    """One of the further tables, or none; only the chosen one is made. others: further ones that the page draws itself.

    Returns the key of the chosen one.
    """
    titles = {**MORE, **others}
    chosen = address.maybe("More about this instance", list(titles), "more", titles=titles, hidden=True) or ""
    if chosen == "agree":
        agreement_table(rows, instance.ranked, k)
    elif chosen == "tokens":
        token_table(results, instance, rows)
    elif chosen == "logits":
        logits_table(instance)
    return chosen


def tokens_of(instance: StoredInstance, rows: Sequence[Row]) -> pd.DataFrame:
    tokens, gold = instance.tokens, instance.answer_tokens
    ranked = np.isin(np.arange(len(tokens)), instance.ranked)

    def part_of(index: int) -> str:
        numbers = (n for n, span in enumerate(instance.documents, start=1) if span.start <= index < span.end)
        number = next(numbers, None)
        if number:
            return f"document {number}"
        return "question" if ranked[index] else "not ranked"

    columns: dict[str, list[Any]] = {
        "number": list(range(1, len(tokens) + 1)),
        "token": list(tokens),
        "in": [part_of(index) for index in range(len(tokens))],
        "answer": [index in gold for index in range(len(tokens))],
    }
    for row in rows:
        ranks = average_ranks(np.asarray(row.scores)[None], ranked[None])[0]
        columns[f"rank, {row.title}"] = list(ranks)
        columns[f"score, {row.title}"] = [round(float(value), 6) for value in row.scores]
    return pd.DataFrame(columns)


def html_export(results: Reader, instance: StoredInstance, rows: Sequence[Row], k: int) -> None:
    """The instance as one self-contained file."""
    made = partial(instance_page, instance, rows, k, results.snapshot_id)
    about = "One file with the prompt, all highlights and numbers; no script, no request, opens anywhere."
    download("This instance as an HTML file", made, f"heval-{instance.instance_id}.html", "instance_html", about)


_LONGEST = 4000


def draw_answers(results: Reader, instance: StoredInstance) -> None:
    """A button for each technique's answer, which leads to that instance; nothing where there was only one technique."""
    answers = query(results, Reader.behaviour_of, instance.instance_id)
    if len(answers) > 1:
        _strip(results, instance, answers)
    own = answers[answers["instance_id"] == instance.instance_id]
    trace = own["trace"].iloc[0] if len(own) else None
    if isinstance(trace, str) and trace:
        _trace(trace)


def _strip(results: Reader, instance: StoredInstance, answers: pd.DataFrame) -> None:
    names = names_of(results)
    with st.container(key="under_techniques", horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown("**Answers under techniques**", width="content")
        for row in answers.to_dict("records"):
            title, text = names.technique(row["technique"]), str(row["predicted_text"] or "").strip()
            here = row["instance_id"] == instance.instance_id
            st.button(
                f"{plain(title)}: **{plain(text)}** {_mark(row)}",
                key=f"under_{row['instance_id']}",
                type="primary" if here else "secondary",
                help=_told(row),
                on_click=_open,
                args=(str(row["instance_id"]), str(row["technique"])),
            )


def _mark(row: dict[str, Any]) -> str:
    return "" if pd.isna(row["bcu"]) else "✓" if row["bcu"] == 1 else "✗"


def _told(row: dict[str, Any]) -> str:
    if pd.isna(row["bcu"]):
        return "No BCU: metrics leave this answer out."
    asked = "what" if row["bcu"] == 1 else "not what"
    return f"BCU {row['bcu']:.0f}: the answer is {asked} this kind of context asks for."


def _open(instance_id: str, technique: str) -> None:
    """The list goes along: it is of one technique."""
    listing.show_instance(instance_id, technique=None if technique == TECHNIQUE else technique)


def _trace(trace: str) -> None:
    """Plain text, whatever a model wrote."""
    box = st.expander("What was asked and answered before this answer", key="trace", on_change="rerun")
    if box.open:
        with box:
            for number, step in enumerate(steps_of(trace), start=1):
                st.caption(f"Call {number}")
                st.code(step[:_LONGEST], language=None, wrap_lines=True)


def steps_of(trace: str) -> list[str]:
    """Each step of a trace, a line for each thing that it says; what is no JSON list is one step."""
    try:
        parsed = json.loads(trace)
    except ValueError:
        return [trace]
    steps = parsed if isinstance(parsed, list) else [parsed]
    return [
        "\n".join(f"{name}: {value}" for name, value in step.items()) if isinstance(step, dict) else str(step)
        for step in steps
    ]
