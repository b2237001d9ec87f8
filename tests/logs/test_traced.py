"""What is said of a traced row: hand-worked, from an answer made by hand."""

from __future__ import annotations

import math

import pytest

from heval_core.logs.report import surface_of
from heval_core.logs.rows import LogPassage, LogRow
from heval_core.logs.tables import row_record, sentence_records, summary, worst_first
from heval_core.logs.traced import TracedRow, _spans_in, traced
from heval_core.records import Span
from tests.pages.whole_answers import made_up, sentence, word

KNOWN = LogPassage("Iceland is cold.", "i", "Sea", "https://example.org", "3", 0.5)
PASSAGES = (KNOWN, LogPassage("Iceland is cold.", "same"), LogPassage("It costs 60.", "p"))


def row(answer="Iceland. 60 maybe", passages=PASSAGES, number=1):
    return LogRow(number, "log.jsonl:1", f"r{number}", "Where?", answer, passages)


def of(read=(1, 3), unread=None, number=1, **changed):
    return traced(row(number=number), made_up(**changed).result, read, unread or {2: "it is the same as passage 1"})


def marked(*texts):
    """The answer with these sentences of a word each, which rest on passages 1 and 3."""
    words = [word(place, text, f"document {place + 1}", 3.0) for place, text in enumerate(texts)]
    cited = [sentence(0, texts[0], 1, 3.0, [3.0, 0.2]) | {"end": 1}, sentence(1, texts[1], 2, 6.0, [0.2, 6.0]) | {"end": 2}]
    about = {"tokens": list(texts), "text": "".join(texts), "probabilities": [0.5] * 2, "matrix": {}}
    return of(words=words, sentences=cited, **about).sentences


def test_sentences_rest_on_the_logs_passages_and_the_sentence_of_it_is_named():
    one, two = of().sentences
    assert (one.text, one.start, one.end, one.source) == ("Iceland.", 0, 8, "passage 1")
    assert [(use.number, use.id, use.nats, use.level, use.sentence, use.text) for use in one.passages] == [
        (1, "i", 3.0, 0.4, 1, "Iceland is cold.")
    ]
    assert (two.text, two.start, two.end, two.source, two.passages[0].id) == ("60 maybe", 9, 17, "passage 3", "p")
    assert two.shares == {"passage 3": 0.5, "unclear": 0.5}
    assert one.shares == {"passage 1": 1.0}  # a full stop is no word


def test_a_sentence_without_a_passage_is_memory_where_most_of_its_words_are_and_else_unclear():
    words = [word(0, " Iceland", "memory", 0.1), word(1, ".", "memory", 0.1)]
    words += [word(2, " 60", "memory", 0.1), word(3, " maybe", "unclear", 0.2)]
    nothing = [
        sentence(start, text, 1, 0, [0.1, 0.1]) | {"citations": []} for start, text in ((0, " Iceland."), (2, " 60 maybe"))
    ]
    found = of(words=words, sentences=nothing)
    assert [one.source for one in found.sentences] == ["memory", "unclear"]
    assert (found.share, found.weakest.number, found.not_used) == (0.0, 1, [1, 3])


@pytest.mark.parametrize(("first", "verdict"), [
    ("Cold [1].", "right"), ("Cold [3].", "wrong"), ("Cold [9].", "wrong"), ("Cold [1, 3].", "needless"), ("Cold.", "missing"),
])  # fmt: skip
def test_markers_are_judged_by_what_the_sentence_rests_on(first, verdict):
    one, two = marked(first, " Dear [3].")
    assert (one.marker, two.marker) == (verdict, "right")


def test_a_marker_is_missing_only_where_others_are_there_and_needless_where_nothing_is_rested_on():
    assert [one.marker for one in marked("Cold.", " Dear.")] == ["", ""]
    words = [word(0, " Iceland", "memory", 0.1), word(1, " [1].", "memory", 0.1)]
    nothing = [sentence(0, " Iceland [1].", 1, 0, [0.1, 0.1]) | {"citations": []}]
    about = {"tokens": [" Iceland", " [1]."], "probabilities": [0.5] * 2, "matrix": {}}
    (only,) = of(words=words, sentences=nothing, **about).sentences
    assert (only.written, only.marker, only.source) == ((1,), "needless", "memory")


def test_markers_of_equal_and_unread_passages_and_what_stands_in_them():
    passages = (
        LogPassage("Iceland is cold."),
        LogPassage("It has 324 metres."),
        LogPassage(" Iceland  is cold."),
        LogPassage(""),
    )
    unread = {2: "it does not fit", 3: "it is the same as passage 1", 4: "it is blank"}
    words = [word(0, "Cold [3].", "document 1", 3.0), word(1, " 324 metres [2].", "document 1", 3.0)]
    cited = [sentence(n, one["text"], 1, 3.0, [3.0]) | {"end": n + 1} for n, one in enumerate(words)]
    about = {"tokens": [one["text"] for one in words], "words": words, "sentences": cited, "probabilities": [0.5] * 2}
    whole = traced(row("Cold [3]. 324 metres [2].", passages), made_up(**about, matrix={}).result, (1,), unread)
    assert [one.marker for one in whole.sentences] == ["right", "not read"]
    assert [one.nowhere for one in whole.sentences] == [(), ()]
    named = {measure.title: measure for measure in summary([whole])}
    assert named["Sentences with markers that name what they rest on"].n == 1  # what was not read cannot be judged


def test_the_reading_surface_has_the_logs_numbers():
    words = [word(0, " Iceland", "document 1", 3.0), word(1, ".", "memory", 0.1), word(2, " 60", "document 2", 6.0)]
    words += [word(3, " maybe", "unclear", 0.2)]
    found = of(words=words)
    drawn = surface_of(found, made_up(words=words).result)
    assert [one.source for one in drawn.words] == ["document 1", "memory", "document 3", "unclear"]
    assert [one.document for part in drawn.sentences for one in part.citations] == [1, 3]
    assert [part.by_document for part in drawn.sentences] == [(3.0, 0.0, 0.2), (0.2, 0.0, 6.2)]
    assert [(len(one.sentences), one.name) for one in drawn.documents] == [
        (1, None), (0, "not read: it is the same as passage 1"), (1, None),
    ]  # fmt: skip


def test_a_sentence_is_where_the_log_has_it_whatever_a_tokenizer_made_of_its_letters():
    answer = "e\u0301 accent. \u00c7a va?  Oui ."
    spans = _spans_in(answer, ["é accent.", "Ça va?", "Oui."])
    assert [answer[span.start : span.end] for span in spans] == ["e\u0301 accent.", "\u00c7a va?", "Oui ."]
    assert _spans_in("It is. It is.", ["It is.", "It is."]) == [Span(0, 6), Span(7, 13)]


def test_of_a_row_its_weakest_sentence_order_and_plausibility_are_told():
    found = of()
    assert (found.share, found.not_used, found.weakest.number) == (1.0, [], 1)  # 3 nats, the other 6
    assert found.effects == {1: 3.2, 3: 6.4}
    assert found.order is None  # of two there is no order
    known = sum(map(math.log, (0.5, 0.5, 0.25, 1e-13))) / 4
    assert found.with_passages == pytest.approx(known)
    assert (found.without, found.implausible) == (None, True)  # what is lost without all was not known
    together = [word(n, text, "memory", 0.1) | {"together": 2.0} for n, text in enumerate((" Iceland", ".", " 60", " maybe"))]
    assert of(words=together).without == pytest.approx(known - 2.0)
    three = TracedRow(row(), "m", found.sentences, effects={1: 0.5, 2: 0.1, 3: 0.0})
    assert (three.order, three.not_used) == (1.0, [2])


def test_without_a_random_level_words_say_on_which_passages_a_sentence_rests():
    plain = [sentence(start, text, 1, 0, nats) | {"citations": None} for start, text, nats in (
        (0, " Iceland.", [3.0, 0.2]), (2, " 60 maybe", [0.2, 6.2]),
    )]  # fmt: skip
    one, two = of(sentences=plain, matrix={}).sentences
    assert [(use.number, use.nats, use.level, use.sentence) for use in one.passages] == [(1, 3.0, None, None)]
    assert (two.source, two.passages[0].nats) == ("passage 3", 6.2)


def test_records_of_rows_and_sentences_say_the_same():
    found = of()
    line, first = row_record(found), next(iter(sentence_records(found)))
    assert (line["sentences"], line["with_source"], line["share_with_source"], line["not_used"]) == (2, 2, 1.0, "")
    assert line["unread"] == "2: it is the same as passage 1"
    assert [first[f"passage_{name}"] for name in ("title", "url", "page", "score")] == ["Sea", "https://example.org", "3", 0.5]
    assert (first["source"], first["passage_id"], first["passages"], first["words_memory"]) == ("passage 1", "i", "1", 0.0)
    nothing = row_record(TracedRow(row(), "m", problem="it has no passages: not assessed"))
    assert nothing.keys() == line.keys()
    assert (nothing["share_with_source"], nothing["problem"]) == (None, "it has no passages: not assessed")


def test_a_log_as_a_whole_has_shares_with_intervals_over_rows_and_the_worst_row_is_first():
    words = [word(place, text, "memory", 0.1) for place, text in enumerate((" Iceland", ".", " 60", " maybe"))]
    nothing = [
        sentence(start, text, 1, 0, [0.1, 0.1]) | {"citations": []} for start, text in ((0, " Iceland."), (2, " 60 maybe"))
    ]
    rows = [of(number=number) for number in (1, 2, 3)] + [of(number=4, words=words, sentences=nothing)]
    rows += [TracedRow(row(number=5), "m", problem="it has no passages: not assessed")]
    first, answers, passages, *_ = summary(rows)
    assert (first.value, first.n, first.of) == (6 / 8, 8, "sentence")
    assert first.low < 6 / 8 < first.high
    assert (answers.value, answers.n) == (3 / 4, 4)
    assert (passages.value, passages.n) == (2 / 8, 8)
    assert [one.row.number for one in worst_first(rows)] == [4, 1, 2, 3, 5]
    assert summary(rows[-1:]) == []
