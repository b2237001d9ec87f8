"""What the reading surface is given to draw: ranks, sources, heads, sentences, colours; beside what is stored. And what can be
taken away from pages: an instance, tables, a filter in words."""

import html
import io
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from heval_core.figures.highlights import instance_page
from heval_core.present.names import first_sentence
from heval_core.present.numbers import ordinal, percent
from heval_core.records import Candidate, Span
from heval_core.records.stored_instances import PromptDocument, StoredInstance
from heval_core.records.vocabulary import answer_from, token_name
from heval_core.statistics.scores import average_ranks
from heval_core.store.filters import BestToken, Filter
from heval_core.ui import heads, reading
from heval_core.ui.instance_tables import part_in_words, tokens_of
from heval_core.ui.reading import ReadingRow, answer_of, answer_ranks, chance_rank, on_screen, prompt_data, row_data

ONE = StoredInstance(
    instance_id="i", model="m", revision="first", dataset="d", regime="conflicting", technique="regular", subject="s",
    tokens=("<s>", "A", " b", ".", " Q", "?"), first_ranked=0, documents=(PromptDocument(0, 4, "b", (2,)),),
    question_span=Span(4, 6), memory_answer="x", candidates=(), predicted_text=" b", predicted_probability=0.5, group="C",
)  # fmt: skip


@pytest.mark.parametrize(("ranked_from", "sentences"), [(1, ["<s>", "A b.", " Q?"]), (0, ["<s>A b.", " Q?"])])
def test_what_is_not_ranked_shares_no_sentence_with_what_is_and_has_no_rank(ranked_from, sentences):
    instance, row = (
        replace(ONE, first_ranked=ranked_from),
        ReadingRow("fa", "Feature ablation", True, [9.0, 1.0, 4.0, 3.0, 2.0, 0.0]),
    )
    assert prompt_data(instance, [row], "sentence")["tokens"] == sentences
    ranks = tokens_of(instance, [row])["rank, Feature ablation"].tolist()
    assert ranks[1:] == [rank + 1 - ranked_from for rank in (4, 1, 2, 3, 5)]
    assert np.isnan(ranks[0]) == bool(ranked_from)


@pytest.mark.parametrize(
    ("sources", "route", "verdict", "places"),
    [
        ([True, False], [0.1, 2.0], "one", {2: "source", 4: "route"}),
        ([False, False], [2.0, 0.1], "either", {2: "either, route", 4: "either"}),
        ([True, True], [np.nan, np.nan], "several", {2: "source", 4: "source"}),
        ([False, False], [0.1, 2.0], "none", {4: "route"}),
    ],
)
def test_below_a_mention_stands_what_an_intervention_says_of_it(sources, route, verdict, places):
    mentions = pd.DataFrame({"is_source": sources, "route_lost": route, "source": verdict, "start": [2, 4]})
    found = reading.mention_marks(mentions)
    assert {token: word for token, (word, _) in found.items()} == places
    assert found.get(2, ("", "the answer"))[1].startswith(
        ("the answer depends on this mention", "either mention", "the answer")
    )
    data = prompt_data(ONE, [ReadingRow("fa", "Feature ablation", True, [0.0] * 6)], "sentence", found)
    assert data["mentions"] == {{2: 0, 4: 1}[token]: mark for token, mark in found.items()}
    assert reading.mention_marks(mentions[:0]) == {}


@pytest.fixture
def shown(demo):
    """An instance answered from its second document, and its rows."""
    chosen = Filter(("demo-qwen2",), ("country_profiles",), ("double_conflicting_swap",), ("C2",))
    instance = demo.instance(demo.instance_ids(chosen)[0])
    return instance, reading.rows_of(demo, demo.attributions(instance.instance_id))


def test_ranks_of_the_answer_are_those_of_its_best_token_in_the_used_document(shown):
    instance, rows = shown
    gold = instance.documents[1].answer_tokens
    for row in rows:
        own = average_ranks(np.asarray(row.scores))[0]
        assert answer_ranks(instance, [row]) == {row.explainer: min(own[token] for token in gold)}
    data = prompt_data(instance, rows)
    assert [row["rank"] for row in data["rows"]] == list(answer_ranks(instance, rows).values())
    assert chance_rank(instance) == (len(instance.tokens) + 1) / (len(gold) + 1)


def test_the_answers_rank_does_not_depend_on_the_level_but_units_do(shown):
    instance, rows = shown
    tokens, words = (prompt_data(instance, rows, level) for level in ("token", "sentence"))
    assert [row["rank"] for row in tokens["rows"]] == [row["rank"] for row in words["rows"]]
    assert "".join(words["tokens"]) == "".join(tokens["tokens"]) == instance.prompt
    assert len(words["tokens"]) < len(tokens["tokens"])


def test_the_best_of_every_k_are_sent_so_that_a_key_needs_no_round_trip(shown):
    instance, rows = shown
    for row, drawn in zip(rows, prompt_data(instance, rows)["rows"], strict=True):
        ranks = average_ranks(np.asarray(row.scores))[0]
        for k, top in drawn["top"].items():
            assert len(top) <= k
            assert all(ranks[token] <= k for token in top)


def test_sources_name_every_document_and_memory_with_their_probabilities(shown):
    instance, _ = shown
    lines = reading.sources(instance)
    likely = {candidate.group: candidate.probability for candidate in instance.candidates}
    assert [line["share"] for line in lines] == [likely["C1"], likely["C2"], likely["M"]]
    assert [line["used"] for line in lines] == [False, True, False]
    assert [line["answer"] for line in lines] == [*(d.answer for d in instance.documents), instance.memory_answer]


def test_another_answer_has_a_line_of_its_own(demo):
    instance = demo.instance(demo.instance_ids(Filter(group=("other",)))[0])
    *others, own = reading.sources(instance)
    assert own["used"]
    assert own["answer"] == instance.predicted_text.strip()
    assert not any(line["used"] for line in others)


def test_the_sentence_names_best_and_worst_with_their_ranks(shown):
    instance, rows = shown
    text = "".join(piece for _, piece in reading.sentence(instance, rows))
    methods = [row for row in rows if not row.control]
    ranks = answer_ranks(instance, methods)
    titles = {row.explainer: row.title for row in methods}
    best, worst = min(ranks, key=ranks.__getitem__), max(ranks, key=ranks.__getitem__)
    assert f"answers {answer_of(instance)}, from document 2." in text
    assert f"{titles[best]} ranks that word {ordinal(ranks[best])} of {len(instance.tokens)}" in text
    assert f"{titles[worst]} {ordinal(ranks[worst])}: it points at" in text


def test_an_answer_is_said_whole_only_where_the_model_wrote_it(shown):
    instance, _ = shown
    own = replace(instance.candidates[1], text="South America")
    given = replace(instance, candidates=(instance.candidates[0], own), predicted_text=" South", group="C2")
    assert answer_of(replace(given, answer_text=" South America, of course")) == "South America"
    assert answer_of(replace(given, answer_text=" South Africa. It")) == "South Africa"
    assert answer_of(replace(given, answer_text=None)) == "South"
    assert answer_of(replace(given, answer_text=" South\nThe", group="other")) == "South"


def test_an_answer_from_memory_has_no_ranks(demo):
    instance = demo.instance(demo.instance_ids(Filter(group=("M",)))[0])
    rows = reading.rows_of(demo, demo.attributions(instance.instance_id))
    assert answer_ranks(instance, rows) == {}
    assert chance_rank(instance) is None
    assert "".join(piece for _, piece in reading.sentence(instance, rows)).endswith("from memory.")


def mapped():
    strengths = np.array([[0.5, -1.0], [3.0, 2.0]])
    return heads.HeadMap(strengths, "L1H0", "L1H1", "candidate C1")


def test_a_picked_head_is_compared_with_the_chosen_one_in_s_and_rank(shown, monkeypatch):
    instance, rows = shown
    monkeypatch.setattr(heads.address, "value", lambda name, default="": "")
    scores = list(np.linspace(0, 1, len(instance.tokens)))
    kept = SimpleNamespace(head_attention=lambda *asked: scores, head_need=lambda id: None)
    (*_, picked), data = heads.with_map(kept, instance, mapped(), rows, "L0H1")
    text = "".join(piece for _, piece in data["told"])
    assert text.startswith("L0H1 instead of L1H0: −1.00 for ")
    assert "4.0 less than the chosen head" in text
    before, now = (answer_ranks(instance, rows)["mechlight"], answer_ranks(instance, [picked])["L0H1"])
    assert text.endswith(f" {ordinal(now)}, not {ordinal(before)}.")
    assert data["picked"] == "L0H1"


def test_how_often_the_chosen_head_is_needed_most_is_counted_by_question(demo):
    found = demo.needed_most(Filter(model=("demo-qwen2",)), 6)
    rows = demo.query(
        "SELECT lost, layer, head, dataset, question FROM head_need JOIN attribution USING (instance_id) "
        "JOIN instance USING (instance_id) "
        "WHERE explainer = 'mechlight' AND model = 'demo-qwen2' AND \"group\" <> 'other'"
    ).to_numpy()
    most = sum(lost[int(6 * layer + head)] == max(lost) for lost, layer, head, *_ in rows)
    assert len(found) == len({(dataset, question) for *_, dataset, question in rows})
    assert (found["n"].sum(), found["most"].sum(), 0 < most < len(rows)) == (len(rows), most, True)
    assert sorted(found["heads"].explode()) == sorted(1 + np.argmax(lost) for lost, *_ in rows)


def test_what_the_answer_needs_is_said_in_one_word_and_the_largest_losses_are_named():
    def need(chosen, *lost):
        data = heads.need_data(heads.HeadMap(np.zeros((2, 2)), chosen, "", ""), 5.0, np.array(lost))
        said = "".join(text for _, text in data["told"])
        assert f"without {chosen}, all other heads kept as they were, the lead" in said
        return said.replace(", all other heads kept as they were,", ""), data

    told, data = need("L1H0", 1.0, 4.0, 2.0, -0.5)
    assert told == (
        "Partly: without L1H0 the lead goes from 5.0 to 3.0. 1 other head costs more. Most: L0H1 4.0, L1H0 2.0, L0H0 1.00"
    )
    assert (data["most"], data["lost"][3]) == (["L0H1", "L1H0", "L0H0"], ["L1H1", -0.5])
    assert need("L0H1", 1.0, 4.0, 2.0, -0.5)[0].startswith("Yes: without L0H1 the lead goes from 5.0 to 1.00. No other head")
    assert need("L0H1", 0.1, 0.4, 0.2, -0.5)[0].startswith("Hardly: without L0H1 the lead goes from 5.0 to 4.6. No other head")
    assert need("L0H0", 0.2, 4.0, 2.0, -0.5)[0].startswith("Hardly: without L0H0 the lead goes from 5.0 to 4.8. 2 other heads")
    assert need("L1H1", 1.0, 4.0, 2.0, -0.5)[0].startswith("No: without L1H1 the lead goes from 5.0 to 5.5. 3 other heads")


def test_words_for_numbers_and_tokens():
    assert [ordinal(rank) for rank in (1, 2, 3, 4, 11, 12, 13, 21, 102, 2.5)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "about 2nd",
    ]  # fmt: skip
    assert [percent(p) for p in (1, 0.98, 0.012, 0.004, 0.0002, 0)] == ["100 %", "98 %", "1 %", "0.4 %", "< 0.1 %", "0 %"]
    assert "|".join(map(token_name, (" .", " census", "\n", ":"))) == "a full stop|“census”|white space|a colon"
    assert [answer_from(g) for g in ("C", "C2", "M")] == ["from the document", "from document 2", "from memory"]


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("Feature ablation: how much the logit falls.\n\nFormula", "How much the logit falls."),
        ("Control: string matching. Its rank is 1.", "String matching."),
        ("Attention of the last layer's head.", "Attention of the last layer's head."),
        ("", ""),
    ],
)  # fmt: skip
def test_a_definition_is_the_first_sentence_without_the_name(docstring, sentence):
    assert first_sentence(docstring) == sentence


def test_another_revision_of_the_model_is_asked_again(monkeypatch):
    """Two sets of results may have an instance of the same id, from models of the same name."""
    asked = []
    monkeypatch.setattr(heads, "installed", lambda model, revision: "folder")
    monkeypatch.setattr(heads, "ask", lambda request: asked.append(request) or [[[float(len(asked))]]])
    not_kept = SimpleNamespace(head_attention=lambda *asked: None)
    rows = [heads.picked_row(not_kept, instance, "L0H0") for instance in (ONE, replace(ONE, revision="second"), ONE)]
    assert [row.scores for row in rows] == [[1.0], [2.0], [1.0]]


HOSTILE = ['</script><script>window.__pwn=1</script>', '<img src=x onerror=window.__pwn=1>', 
           "<style>.stApp{display:none}</style>", "<s>", "&lt;", "\u202e", "\x00", '"><b>', "$x$", "=1+1"]  # fmt: skip


def test_a_tint_is_as_strong_as_the_root_of_the_share_of_its_rows_strongest_score():
    found = row_data(ReadingRow("fa", "FA", True, [1.0, -3.0, 0.0, 12.0]), range(3))["strength"]
    assert found[:3] == [pytest.approx(np.sqrt(1 / 3), abs=1e-3), 1.0, 0.0]


def test_an_exported_instance_has_no_script_no_request_and_every_token_as_text():
    instance = replace(
        ONE, instance_id="i<", model="<b>m", subject=HOSTILE[0], tokens=tuple(HOSTILE),
        documents=(PromptDocument(0, 5, "<img>", (1,)),), question_span=Span(5, 10), memory_answer=HOSTILE[2],
        candidates=(Candidate("C", HOSTILE[3], 1, 0.0, 0.5),), predicted_text=HOSTILE[1],
    )  # fmt: skip
    rows = [ReadingRow("fa", "FA <i>", True, [0.1 * i - 0.3 for i in range(10)]), ReadingRow("attn", "A", False, [0.1] * 10)]
    page = instance_page(instance, rows, 3, "snap<")
    for forbidden in ("<script", "<img", "<iframe", "<s>", "onerror=window", "src=", "href=", "style="):
        assert forbidden not in page.replace("onerror=window.__pwn=1&gt;", "").replace("&lt;img src=x ", "")
    assert "default-src 'none'" in page
    shown = [html.unescape(text) for text in re.findall(r'<span class="w(?: g)?">(.*?)</span>', page)][1:]
    glyphs = {"\u202e": "⟲", "\x00": "␀"}
    assert shown == ["".join(glyphs.get(c, c) for c in token) for token in HOSTILE]


def test_what_the_model_would_write_by_itself_is_said_where_it_is_none_of_the_named_answers():
    said = "".join(piece for _, piece in reading.sentence(ONE, [], by_itself=" The"))
    assert said.startswith(f"By itself the model begins with “The”; of the answers named it prefers {answer_of(ONE)}")


def test_a_saved_instance_is_the_view_that_was_open_with_its_layout_folded():
    rows = [ReadingRow(key, key, True, [0.0] * len(ONE.tokens), control=key.startswith("c")) for key in "abdefghc"]
    view = {"drawn": [], "painted": ["h"], "controls": False}
    assert [row.explainer for row in on_screen(rows, view)] == list("habdefg")
    assert [row.explainer for row in on_screen(rows, view | {"drawn": ["g", "a"], "controls": True})] == list("hgac")
    behind = replace(ONE, first_ranked=2)
    page = instance_page(behind, rows[:1], 3, "snap")
    assert f"<pre>{html.escape(''.join(ONE.tokens[:2]))}</pre></details>" in page
    assert (
        len(re.findall(r'<span class="w(?: g)?">', page)) == len(re.findall(r'<span class="w(?: g)?">', whole_page(rows))) - 2
    )


def test_a_saved_tokens_index_is_its_place_in_the_prompt():
    rows = [ReadingRow("a", "a", True, [0.0] * len(ONE.tokens))]
    indices = re.findall(r"<tr><td>(\d+)</td>", instance_page(replace(ONE, first_ranked=2), rows, 3, "snap"))
    assert indices == [str(index) for index in range(2, len(ONE.tokens))]


def whole_page(rows) -> str:
    return instance_page(replace(ONE, first_ranked=0), rows[:1], 3, "snap")


def test_tables_are_taken_away_whole_and_harmless(demo):
    frame = demo.cells(Filter(("demo-qwen2",)), "mrr", 0)
    back = pd.read_parquet(io.BytesIO(frame.to_parquet(index=False)))
    pd.testing.assert_frame_equal(back, frame)


def test_a_filter_says_in_words_what_it_asks_for():
    chosen = Filter(
        regime=("mixed", "mixed_swap"), tokens=(40, 60), answer_at=(0.0, 0.5), head="L1H2", best=(BestToken("fa", "answer"),)
    )
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
