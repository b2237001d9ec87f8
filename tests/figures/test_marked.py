"""Answers that people marked, as tables, a figure and sentences: methods before controls, and who is ahead of whom."""

import pandas as pd
import pytest

from heval_core.evaluation.quoted import cells
from heval_core.figures.marked import KINDS, kinds_of, marked_figure, marked_table, verdict
from heval_core.present.names import names_of
from tests.conftest import reader_of

QUOTED, CLAIMS, WORDS = KINDS


@pytest.fixture
def names(small_store):
    return names_of(reader_of(small_store))


def cell(explainer, measure, value, *, dataset="quotesum", copied="all", delta=None, n=7):
    """A row of `cell_quoted`; its difference to words in common has .02 on both sides."""
    own = {"model": "m", "dataset": dataset, "explainer": explainer, "measure": measure, "copied": copied, "value": value}
    own |= {"low": value - 0.1, "high": value + 0.1, "chance": 0.4, "n": n, "questions": n - 2}
    ends = (None, None, None) if delta is None else (delta, delta - 0.02, delta + 0.02)
    against = None if delta is None else "lexical"
    return own | dict(zip(("delta", "delta_low", "delta_high"), ends, strict=True)) | {"against": against}


def test_a_table_has_methods_before_controls_with_chance_and_counts(names):
    rows = [cell(key, "source", value, delta=own) for key, value, own in (("lexical", 0.9, None), ("attn", 0.5, -0.4))]
    rows += [cell("fa", "source", 0.7, delta=-0.2)]
    # Over fewer answers: not in one order with the others, though its number is the highest.
    rows += [cell("attn", "span_rank", 0.3), cell("fa", "source", 0.6, copied="below .85"), cell("ig", "source", 0.99, n=3)]
    table = marked_table(QUOTED, pd.DataFrame(rows), names)
    assert [(row.titles[-1], row.notes) for row in table.rows] == [
        ("Feature ablation", ""),
        ("Attention", ""),
        ("Integrated gradients", "fewer answers"),
        ("Lexical overlap", "control"),
    ]
    assert [cell.whole for cell in table.rows[0].cells] == [
        "0.70 [0.60, 0.80] chance 0.40", "−0.20 [−0.22, −0.18]", "0.60 [0.50, 0.70] chance 0.40", "–", "–", "7", "–", "5",
    ]  # fmt: skip
    assert table.rows[0].cells[1].why == "less Lexical overlap"


def test_each_kind_of_gold_has_its_table_and_a_data_set_stands_where_its_main_measure_does(names):
    rows = [
        {"model": "m", "dataset": dataset, "answer_id": f"{number}", "question_id": f"{number}", "explainer": key, "place": 0,
         "part": part, "gold": [0], "copied": 1.0, "scores": scores}
        for number in range(4)
        for dataset, part in (("lfqa", "sentence"), ("lfqa", "statement"), ("wice", "claim"), ("wice_words", "words"))
        for key, scores in (("attn", [1.0, 0.0, 0.5]), ("lexical", [0.0, 1.0, 0.5]))
    ]  # fmt: skip
    measured = pd.DataFrame(list(cells(pd.DataFrame(rows).astype({"copied": "float32"}))))
    assert [kind.key for kind in kinds_of(measured)] == ["quoted", "claims", "words"]
    titles = [{row.titles[1:] for row in marked_table(kind, measured, names).rows} for kind in KINDS]
    both = ("Attention", "Lexical overlap")
    assert titles == [
        {("LFQA", title) for title in both},
        {(dataset, title) for dataset in ("LFQA", "WiCE") for title in both},
        {("WiCE, words", title) for title in both},
    ]
    assert kinds_of(measured.iloc[:0]) == []


def test_a_sentence_says_who_is_ahead_behind_or_not_told_apart(names):
    def place(dataset, measure, delta):
        best = cell("attn", measure, 0.8, dataset=dataset, delta=delta)
        less = cell("fa", measure, 0.5, dataset=dataset, delta=-0.3)
        return [best, less, cell("lexical", measure, 0.7, dataset=dataset)]

    rows = place("quotesum", "span_rank", -0.1) + place("wice", "claim_precision", 0.1)
    rows += [*place("wice_words", "word_auroc", 0.01), cell("attn", "source", 0.9), cell("lexical", "source", 0.9)]
    measured = pd.DataFrame(rows)
    first, *others = verdict(measured, names, str)
    assert first == "In 1 of 3 places the best explainer is ahead of the best control."
    assert others == [
        "QuoteSum, m: Attention (0.80) is behind the best control, Lexical overlap: −0.10 [−0.12, −0.08].",
        "WiCE, m: Attention (0.80) is ahead of the best control, Lexical overlap: 0.10 [0.08, 0.12].",
        "WiCE, words, m: Attention (0.80) is not told apart from the best control, Lexical overlap: 0.01 [−0.01, 0.03].",
    ]
    figure = marked_figure(measured, names)
    assert [(row.title, row.control) for row in figure.rows] == [
        ("Attention", False), ("Feature ablation", False), ("Lexical overlap", True),
    ]  # fmt: skip
    assert [panel.title for panel in figure.panels] == ["QuoteSum, m", "WiCE, m", "WiCE, words, m"]
    assert [slot.text for slot in figure.panels[1].slots] == ["0.80", "0.50", "0.70"]


def test_what_was_measured_over_fewer_answers_is_not_drawn_beside_the_others(names):
    measured = pd.DataFrame([cell("attn", "claim_precision", 0.5, dataset="wice"), cell("ig", "claim_precision", 1.0, n=3)])
    measured = measured.assign(dataset="wice")
    assert [row.key for row in marked_figure(measured, names).rows] == ["attn"]


def test_a_method_that_lacks_one_answer_is_still_compared(names):
    rows = [
        cell("attn", "claim_precision", 0.8, dataset="wice", delta=0.1, n=99),
        cell("lexical", "claim_precision", 0.7, n=100),
    ]
    first, *_ = verdict(pd.DataFrame(rows).assign(dataset="wice"), names, str)
    assert first.startswith("In 1 of 1 places")
