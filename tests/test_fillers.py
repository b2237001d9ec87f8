"""Documents that only make a prompt longer: they are context, carry no answer, and have no number among groups."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest

from heval_core.behaviour import Memory
from heval_core.evaluation.regime import layout_of
from heval_core.evaluation.scored import first_document_tokens
from heval_core.groups import DOCUMENT_KINDS, document_of, numbered
from heval_core.pipeline import prepare
from heval_core.records import Document, Instance, Span
from heval_core.store.filters import Filter
from heval_core.stored import PromptDocument, StoredInstance

KINDS = ("filler", "conflicting", "filler", "conflicting")


def test_a_group_counts_the_documents_that_carry_an_answer():
    assert numbered(KINDS) == [1, 3]
    assert [document_of(group, KINDS) for group in ("C1", "C2", "M")] == [1, 3, None]
    assert numbered(tuple(DOCUMENT_KINDS)) == [0, 1, 2, 3, 4, 6]


@pytest.fixture
def instance():
    texts = ("Rivers run.", "The capital of Kenya is Lisbon.", "It rains.", "Kenya's capital is Oslo.")
    answers = ("", "Lisbon", "", "Oslo")
    documents = tuple(Document("Kenya", answer, text, kind) for text, answer, kind in zip(texts, answers, KINDS, strict=True))
    return Instance("i", "d", "double_conflicting", "f", "Kenya", "capital", "What is it?", "Nairobi", documents)


def test_a_prompt_with_fillers_has_the_candidates_of_its_other_documents(language_models, instance):
    lm = language_models["gpt2"]
    prepared = prepare(lm, instance, Memory("Nairobi", lm.first_tokens("Nairobi")))
    assert prepared.dropped_because is None
    assert [(name.group, name.text) for name in prepared.names] == [("C1", "Lisbon"), ("C2", "Oslo"), ("M", "Nairobi")]
    assert len(prepared.prompt.documents) == 4
    assert [bool(tokens) for tokens in prepared.prompt.answer_tokens] == [False, True, False, True]
    leaking = replace(instance.documents[0], text="Nairobi is on a river.")
    leak = prepare(lm, replace(instance, documents=(leaking, *instance.documents[1:])), Memory("Nairobi", (5,)))
    assert leak.dropped_because == "memory answer in document"


def row(kinds, group):
    """Prompts of 12 tokens: two tokens for each document, the answer second, then the question."""
    starts = list(range(0, 2 * len(kinds), 2))
    gold = [[] if kind == "filler" else [start + 1] for kind, start in zip(kinds, starts, strict=True)]
    return {
        "instance_id": "i", "length": 12, "first_ranked": 0, "ranked_end": 12,
        "document_kinds": list(kinds), "document_starts": starts, "document_ends": [start + 2 for start in starts],
        "answer_tokens": gold, "first_mention": gold, "group": group,
    }  # fmt: skip


def test_metrics_compare_the_documents_with_answers_and_count_fillers_as_context():
    layout = layout_of(pd.DataFrame([row(KINDS, "C2"), row(("conflicting", "filler", "conflicting", "filler"), "C1")]))
    assert [np.flatnonzero(own[0]).tolist() for own in layout.documents] == [[2, 3], [6, 7]]
    assert [np.flatnonzero(own[1]).tolist() for own in layout.documents] == [[0, 1], [4, 5]]
    assert [np.flatnonzero(own[0]).tolist() for own in layout.gold] == [[3], [7]]
    assert np.flatnonzero(layout.fillers[0]).tolist() == [0, 1, 4, 5]
    assert layout.context.sum(axis=1).tolist() == [8, 8]
    assert layout.rows(np.array([1])).fillers.tolist() == layout.fillers[1:].tolist()


def test_a_layout_ranks_from_the_first_ranked_token_to_the_end_that_is_given():
    chat = row(KINDS, "C2") | {"first_ranked": 2, "ranked_end": 10}
    layout = layout_of(pd.DataFrame([row(KINDS, "C2"), chat]))
    assert [np.flatnonzero(own).tolist() for own in layout.ranked] == [list(range(12)), list(range(2, 10))]
    assert layout.lengths.tolist() == [12, 8]


def test_a_stored_instance_knows_which_of_all_its_documents_was_used():
    documents = tuple(PromptDocument(2 * i, 2 * i + 2, "", (), kind) for i, kind in enumerate(KINDS))
    stored = StoredInstance(
        instance_id="i", model="m", revision="r", dataset="d", regime="double_conflicting", technique="regular",
        subject="", tokens=("a",) * 12, first_ranked=0, documents=documents, question_span=Span(8, 12), memory_answer="",
        candidates=(), predicted_text="", predicted_probability=0.5, group="C2",
    )  # fmt: skip
    assert stored.used_document == 3


def test_the_first_documents_answer_is_not_looked_for_in_a_filler():
    assert first_document_tokens(pd.DataFrame([row(KINDS, "M") | {"tokens": list("abcdefghijkl")}])) == ["d"]


@pytest.mark.parametrize(("group", "at"), [("C1", 3), ("C2", 7), ("M", 3), ("other", 3)])
def test_instances_are_found_by_where_the_used_documents_answer_stands(group, at):
    stored = pd.DataFrame([row(KINDS, group) | {"tokens": ["a"] * 12, "regime": "mixed"}])
    for low, high, found in ((at, at, 1), (at + 1, 12, 0), (0, at - 1, 0)):
        where, values = Filter(answer_at=((low - 0.01) / 12, (high + 0.01) / 12)).of_instances()
        connection = duckdb.connect()
        connection.register("instance", stored)
        assert len(connection.execute(f"SELECT * FROM instance WHERE {where}", values).fetchall()) == found
