"""Patterns of failure, by hand; and where the tokens of stored prompts stand: which are ranked, and where the used document's
answer is looked for."""

import duckdb
import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.patterns import chance_of, kinds_of, padding_of, pattern_of, rows_of
from heval_core.evaluation.scored import layout_of
from heval_core.records.vocabulary import PATTERN_KINDS as ALL_KINDS
from heval_core.records.vocabulary import PATTERNS
from heval_core.store.filters import Filter

TOKENS = [
    "Rome", " is", " the", " seat", " of", " Kenya", ".", " Old", " Peru", " sells", " Oslo", " Q:", " Kenya", "?", " A:",
]  # fmt: skip
DOCUMENTS = [(0, 7), (7, 11)]
KINDS = ["answer", "function_word", "function_word", "near_entity", "function_word", "near_entity", "function_word",
         *["wrong_document"] * 4, *["question"] * 4]  # fmt: skip


def test_every_token_is_of_one_kind():
    assert kinds_of(TOKENS, DOCUMENTS, 0, [0], "Kenya") == KINDS
    # Of the other document the subject is far away: none of its words is near the entity but those next to the mention.
    other = kinds_of(TOKENS, DOCUMENTS, 1, [10], "Kenya")
    assert other[7:11] == ["near_entity", "near_entity", "near_entity", "answer"]
    assert kinds_of(TOKENS, DOCUMENTS, 1, [10], "Fiji")[7:11] == ["other", "other", "other", "answer"]
    assert set(other[:7]) == {"wrong_document"}


@pytest.mark.parametrize("index", range(len(TOKENS)))
def test_the_best_token_names_the_pattern(index):
    scores = np.zeros(len(TOKENS))
    scores[index] = 1.0
    assert pattern_of(KINDS, scores, 0) == (KINDS[index], index)


def test_tokens_that_share_the_first_rank_are_tied_only_where_they_differ():
    scores = np.zeros(len(TOKENS))
    scores[[1, 2]] = 1
    assert pattern_of(KINDS, scores, 0) == ("function_word", 1)
    scores[0] = 1
    assert pattern_of(KINDS, scores, 0) == ("tied", 0)
    assert pattern_of(KINDS, np.ones(len(TOKENS)), 0)[0] == "tied"


@pytest.mark.parametrize("first_ranked", [0, 1])
def test_chance_is_how_often_random_scores_put_a_kind_on_top(first_ranked):
    chance = chance_of(KINDS, first_ranked)
    assert sum(chance.values()) == pytest.approx(1)
    rng = np.random.default_rng(0)
    drawn = [pattern_of(KINDS, rng.random(len(KINDS)), first_ranked)[0] for _ in range(4000)]
    for kind in ALL_KINDS:
        assert drawn.count(kind) / len(drawn) == pytest.approx(chance[kind], abs=0.03)


def test_a_token_that_is_not_ranked_is_never_best_and_a_chat_template_behind_the_prompt_has_no_part_in_patterns():
    scores = np.zeros(len(TOKENS))
    scores[0], scores[3] = 2.0, 1.0
    assert pattern_of(KINDS, scores, 1) == ("near_entity", 3)
    scores = np.arange(len(TOKENS), dtype=float)
    scores[3] = 11.5  # the best among the first 12, and behind every later one
    assert pattern_of(KINDS, scores, 1, 12) == ("near_entity", 3)
    assert pattern_of(KINDS, scores, 1)[1] == len(TOKENS) - 1
    chance = chance_of(KINDS, 1, 12)
    assert chance["near_entity"] == KINDS[1:12].count("near_entity") / 11
    assert sum(chance.values()) == pytest.approx(1)


def test_only_instances_answered_from_a_document_have_a_pattern():
    one = {"instance_id": "a", "regime": "mixed", "question_start": 12, "group": "C1",
           "tokens": TOKENS, "document_kinds": ["conflicting"] * 2,
           "document_starts": [0, 7], "document_ends": [7, 11],
           "answer_tokens": [[0], [10]], "subject": "Kenya", "first_ranked": 0, "ranked_end": len(TOKENS)}  # fmt: skip
    others = [one | {"instance_id": group, "group": group} for group in ("M", "other", "ambiguous")]
    scores = [(key, "fa", np.arange(len(TOKENS), dtype=float)) for key in ("a", "M", "other", "ambiguous")]
    rows, chance = rows_of(pd.DataFrame([one, *others]), pd.DataFrame(scores, columns=["instance_id", "explainer", "scores"]))
    assert rows == [{"instance_id": "a", "explainer": "fa", "pattern": "question", "token": 14}]
    assert [row["instance_id"] for row in chance] == ["a"]
    assert set(KINDS) < set(PATTERNS)


@pytest.mark.parametrize(
    ("regime", "before", "after"),
    [("mixed", 0, 0), ("mixed.d1", 0, 0), ("mixed.256-first", 0, 2), ("mixed.256-middle", 2, 2), ("mixed.d1.256-last", 2, 0)],
)
def test_padding_is_no_question(regime, before, after):
    passage = [" Rain", "."]
    tokens = [*passage * (before // 2), *TOKENS[:11], *passage * (after // 2), *TOKENS[11:]]
    documents = [(start + before, end + before) for start, end in DOCUMENTS]
    question = tokens.index(" Q:") + 1
    padding = padding_of(regime, tokens, documents, question)
    kinds = kinds_of(tokens, documents, 0, [before], "Kenya", padding)
    assert kinds == [*["wrong_document"] * before, *KINDS[:11], *["wrong_document"] * after, *["question"] * 4]


def row(group):
    """A prompt of 12 tokens: four for each of two documents, the answer second, then the question."""
    return {
        "instance_id": "i", "length": 12, "first_ranked": 0, "ranked_end": 12, "document_starts": [0, 4],
        "document_ends": [4, 8], "answer_tokens": [[1], [5]], "first_mention": [[1], [5]], "group": group,
    }  # fmt: skip


def test_a_layout_ranks_from_the_first_ranked_token_to_the_end_that_is_given():
    chat = row("C2") | {"first_ranked": 2, "ranked_end": 10}
    layout = layout_of(pd.DataFrame([row("C2"), chat]))
    assert [np.flatnonzero(own).tolist() for own in layout.ranked] == [list(range(12)), list(range(2, 10))]
    assert layout.lengths.tolist() == [12, 8]
    assert np.flatnonzero(layout.context[0]).tolist() == list(range(8))
    assert [np.flatnonzero(own[0]).tolist() for own in layout.gold] == [[1], [5]]


@pytest.mark.parametrize(("group", "at"), [("C1", 1), ("C2", 5), ("M", 1), ("other", 1)])
def test_instances_are_found_by_where_the_used_documents_answer_stands(group, at):
    stored = pd.DataFrame([row(group) | {"tokens": ["a"] * 12, "regime": "mixed"}])
    for low, high, found in ((at, at, 1), (at + 1, 12, 0), (0, at - 1, 0)):
        where, values = Filter(answer_at=((low - 0.01) / 12, (high + 0.01) / 12)).of_instances()
        connection = duckdb.connect()
        connection.register("instance", stored)
        assert len(connection.execute(f"SELECT * FROM instance WHERE {where}", values).fetchall()) == found
