"""The Leaderboard's tab of people's answers: a sentence, a figure, a table of each kind of gold; a filter of models."""

import shutil

import duckdb
import pandas as pd
import pytest

from heval_core.evaluation.quoted import cells
from heval_core.present.drawing import as_svg
from heval_core.report.sections import section
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.few_cells import GPT2, QWEN
from tests.pages.opening import open_well, text_of, unfolded

PARTS = (("quotesum", "sentence"), ("quotesum", "span"), ("lfqa", "statement"), ("wice", "claim"), ("wice_words", "words"))


@pytest.fixture(scope="module")
def store(few_cells, tmp_path_factory):
    """Of one model, of QuoteSum another too; attention always names the gold and words in common never, but of words."""
    folder = tmp_path_factory.mktemp("marked") / "results"
    shutil.copytree(few_cells, folder)
    rows = [
        {"model": model, "dataset": dataset, "answer_id": f"{number}", "question_id": f"{number}", "explainer": key,
         "place": 0, "part": part, "gold": [int(part != "words")], "copied": 1.0, "scores": scores}
        for number in range(12)
        for model in (QWEN, GPT2)
        for dataset, part in PARTS
        for key, scores in (("attn", [0.0, 1.0, 0.5]), ("lexical", [1.0, 0.0, 0.5]))
        if model == QWEN or dataset == "quotesum"
    ]  # fmt: skip
    found = pd.DataFrame(list(cells(pd.DataFrame(rows).astype({"copied": "float32"}))))
    with duckdb.connect(current_file(folder)) as results:
        assert len(found)
        results.execute("INSERT INTO cell_quoted BY NAME SELECT * FROM found")
    return Reader(current_file(folder))


def test_the_tab_says_who_is_ahead_and_draws_a_panel_of_each_model_and_data_set(store, own_store, figures):
    app = open_well("leaderboard", tab="marked")
    assert app.title[0].value == "Does an explainer find what people marked, and a text search not?"
    text = text_of(app)
    assert "In **4 of 5** places the best explainer is ahead of the best control." in text
    assert r"WiCE, demo\-qwen2: **Attention** (1.00) is ahead of the best control, Lexical overlap: 0.67" in text
    ((figure,), _) = figures["marked"]
    assert [panel.title for panel in figure.panels] == [
        "QuoteSum, demo-gpt2", "QuoteSum, demo-qwen2", "LFQA, demo-qwen2", "WiCE, demo-qwen2", "WiCE, words, demo-qwen2",
    ]  # fmt: skip


def test_its_numbers_are_a_table_of_each_kind_of_gold(store, own_store):
    app = unfolded(open_well("leaderboard", tab="marked"), "marked_numbers")
    assert [head.value for head in app.subheader] == [
        "Answers that people wrote: who finds the document?",
        "In other words: who finds the sentences that people marked?",
        "Unsupported words: who finds those that people marked?",
    ]


def test_a_model_filters_it_and_data_sets_of_prompts_do_not(store, own_store, figures):
    open_well("leaderboard", tab="marked", model=GPT2, dataset="country_profiles")
    assert [panel.title for panel in figures["marked"][0][0].panels] == ["QuoteSum, demo-gpt2"]


def test_where_there_are_none_the_page_says_how_to_get_some(store, own_store, monkeypatch):
    all_of = Reader.quoted

    def of_none(results, chosen):
        return all_of(results, chosen).iloc[:0]

    monkeypatch.setattr(Reader, "quoted", of_none)
    (info,) = open_well("leaderboard", tab="marked").info
    assert info.value.startswith("Here are no answers that people wrote. `")
    assert " run --answers --datasets wice=PATH` reads some" in info.value


def test_the_report_has_a_section_of_each_kind_with_its_sentence_and_figure(store):
    for key, panels in (("quoted", 2), ("claims", 2), ("words", 1)):
        made = section(store, key)
        assert made.text.startswith(f"In {panels if key != 'words' else 0} of {panels} places the best explainer is ahead")
        ((caption, drawing),) = made.figures
        assert (caption, as_svg(drawing).count("demo-") >= panels) == (made.plan.title, True)
