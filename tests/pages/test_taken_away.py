"""The reading surface's colours, and what can be taken away from pages: an instance, tables, a filter in words."""

from __future__ import annotations

import html
import io
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from heval_core.figures.highlights import instance_page
from heval_core.records import Candidate, Span
from heval_core.store.filters import Filter
from heval_core.stored import PromptDocument, StoredInstance
from heval_core.ui.instance_tables import part_in_words, tokens_of
from heval_core.ui.reading import Row, row_data

HOSTILE = ['</script><script>window.__pwn=1</script>', '<img src=x onerror=window.__pwn=1>', 
           "<style>.stApp{display:none}</style>", "<s>", "&lt;", "\u202e", "\x00", '"><b>', "$x$", "=1+1"]  # fmt: skip


def test_a_tint_is_as_strong_as_the_root_of_the_share_of_its_rows_strongest_score():
    found = row_data(Row("fa", "FA", True, [1.0, -3.0, 0.0, 12.0]), range(3))["strength"]
    assert found[:3] == [pytest.approx(np.sqrt(1 / 3), abs=1e-3), 1.0, 0.0]


def a_hostile_instance():
    return StoredInstance(
        instance_id="i<", model="<b>m", revision="r", dataset="d", regime="conflicting", technique="regular",
        subject=HOSTILE[0], tokens=tuple(HOSTILE), first_ranked=0, documents=(PromptDocument(0, 5, "<img>", (1,)),),
        question_span=Span(5, 10), memory_answer=HOSTILE[2], candidates=(Candidate("C", HOSTILE[3], 1, 0.0, 0.5),),
        predicted_text=HOSTILE[1], predicted_probability=0.5, group="C",
    )  # fmt: skip


def test_an_exported_instance_has_no_script_no_request_and_every_token_as_text():
    instance = a_hostile_instance()
    rows = [Row("fa", "FA <i>", True, [0.1 * i - 0.3 for i in range(10)]), Row("attn", "A", False, [0.1] * 10)]
    page = instance_page(instance, rows, 3, "snap<")
    for forbidden in ("<script", "<img", "<iframe", "<s>", "onerror=window", "src=", "href=", "style="):
        assert forbidden not in page.replace("onerror=window.__pwn=1&gt;", "").replace("&lt;img src=x ", "")
    assert "default-src 'none'" in page
    shown = [html.unescape(text) for text in re.findall(r'<span class="w(?: g)?">(.*?)</span>', page)][1:]
    glyphs = {"\u202e": "⟲", "\x00": "␀"}
    assert shown == ["".join(glyphs.get(c, c) for c in token) for token in HOSTILE]


def test_tables_are_taken_away_whole_and_harmless(demo):
    frame = demo.cells(Filter(("demo-qwen2",)), "mrr", 0)
    back = pd.read_parquet(io.BytesIO(frame.to_parquet(index=False)))
    pd.testing.assert_frame_equal(back, frame)


def test_a_filter_says_in_words_what_it_asks_for():
    chosen = Filter(regime=("mixed", "mixed_swap"), tokens=(40, 60), answer_at=(0.0, 0.5), head="L1H2", best=("fa: answer",))
    assert str(chosen) == "regime: mixed, mixed_swap; tokens: 40 to 60; answer_at: 0 to 0.5; head: L1H2; best: fa: answer"
    assert str(Filter()) == ""


def test_a_tokens_table_has_ranks_beside_scores(demo):
    instance = demo.instance(demo.instance_ids(Filter(regime=("mixed",)))[0])
    scores = demo.attributions(instance.instance_id)["fa"].scores
    table = tokens_of(instance, [SimpleNamespace(explainer="fa", title="Feature ablation", scores=scores)])
    assert table["token"].tolist() == list(instance.tokens)
    assert table.loc[int(np.argmax(scores)), "rank, Feature ablation"] == 1
    assert set(table["in"]) == {"document 1", "document 2", "question"}


@pytest.mark.parametrize(("part", "words"), [
    ("c", "the document"), ("c2", "document 2"), ("deletion", "deletion"), ("all_protected", "all, question protected"),
    ("c_context", "the document, target held fixed"),
])  # fmt: skip
def test_parts_of_a_metric_are_named_in_words(part, words):
    assert part_in_words(part) == words
