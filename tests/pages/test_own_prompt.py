"""A prompt of one's own: its form, what is kept of its answer, its link, its files, and what is drawn."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import math
import operator
import os
import re
import threading
import zlib
from dataclasses import asdict, replace
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from streamlit.testing.v1 import AppTest

from heval_core.figures.answer import GREY, HUES, Change, answer_card, answer_drawing, answer_page, compared, on_card
from heval_core.lm.installed import installed_models
from heval_core.records import HEvalError
from heval_core.ui import own_answer, own_prompts, sidebar
from tests.pages.opening import open_form, open_page, ran, send, text_of
from tests.pages.whole_answers import ASKED, made_up, over, word


@pytest.fixture(autouse=True)
def gallery(tmp_path, monkeypatch):
    monkeypatch.setenv("HEVAL_ANSWERS", str(tmp_path / "answers"))
    return tmp_path / "answers"


def finished(ticket, asked):
    app = open_page("your_prompt")
    app.session_state[sidebar.TICKET], app.session_state[sidebar.PROMPT] = ticket, asked
    return ran(app)


def form():
    return open_form().sidebar.selectbox(key="own_model").set_value("demo-gpt2").run()


def texts(app):
    return [box.value for box in app.sidebar.text_area if box.key.startswith("own_text_")]


def test_the_form_sends_what_it_holds(sent, monkeypatch):
    monkeypatch.setattr("heval_core.ui.sidebar.has_bfloat16", lambda: True)
    app = form()
    app.sidebar.number_input(key="own_generate").set_value(12)
    app.sidebar.multiselect(key="own_explainers").set_value(["attn"])
    app.sidebar.radio(key="own_template").set_value("plain").run()
    assert send(app) == []
    (request,) = sent
    assert request["model"] == str(installed_models()["demo-gpt2"].path)
    assert request["documents"] == list(sidebar.FIRST[0])
    assert (request["generate"], request["answer"], request["explainers"]) == (12, None, ["attn"])
    assert request["dtype"] == "float32"
    app.sidebar.text_area(key="own_answer").set_value(" In Iceland. ")
    app.sidebar.radio(key="own_dtype").set_value("bfloat16").run()
    send(app)
    assert (sent[-1]["answer"], sent[-1]["dtype"]) == ("In Iceland.", "bfloat16")


@pytest.mark.parametrize(("words", "last"), [(20, []), (100, [sidebar.SCREENED]), (300, [sidebar.SCREENED])])
def test_a_long_prompts_feature_ablation_is_of_the_sentences_that_matter_and_comes_last(sent, words, last):
    app = form()
    app.sidebar.multiselect(key="own_explainers").set_value(["fa", "attn"])
    app.sidebar.text_area(key="own_text_1").set_value("Oslo is far. " * (words // 4)).run()
    send(app)
    assert sent[0]["explainers"] == ["attn", *last]


def test_documents_are_added_pasted_moved_and_removed(sent):
    app = form()
    one, other = texts(app)
    app.sidebar.button(key="own_up_2").click().run()
    assert texts(app) == [other, one]
    app.sidebar.button(key="own_add").click().run()
    app.sidebar.text_area(key="own_pasted").set_value("First.\n \nSecond\nline.\n\n\n").run()
    app.sidebar.button(key="own_paste").click().run()
    assert texts(app) == [other, one, "First.", "Second\nline."]  # the empty one made room
    app.sidebar.button(key="own_remove_1").click().run()
    assert texts(app) == [one, "First.", "Second\nline."]
    app.sidebar.text_area(key="own_text_1").set_value("Changed.").run()
    app.sidebar.button(key="own_undo").click().run()
    assert texts(app) == [other, "Changed.", "First.", "Second\nline."]  # what was typed since stays
    app.sidebar.text_area(key="own_pasted").set_value("\n\n".join("abcdefghij")).run()
    app.sidebar.button(key="own_paste").click().run()
    assert texts(app)[4:] == [*"abcdefgh"]
    assert app.text_area(key="own_pasted").value == "i\n\nj"  # what does not fit is not lost
    assert any("what stands here did not fit" in line.value for line in app.caption)


def test_what_the_form_holds_outlives_a_page_that_leads_on_before_it_is_drawn(sent):
    script = "import streamlit as st\nfrom heval_core.ui import sidebar\nif 'on' not in st.query_params: sidebar.draw()"
    app = AppTest.from_string(script, default_timeout=300).run()
    app.sidebar.text_area(key="own_question").set_value("Who dug the canal?").run()
    app.query_params["on"] = "1"
    app.run()
    del app.query_params["on"]
    assert not app.run().exception
    assert app.sidebar.text_area(key="own_question").value == "Who dug the canal?"


def error_below(app):
    """The key of the field right below which the only error of the form stands."""
    key, found = "", []

    def walk(block):
        nonlocal key
        for child in block.children.values():
            found.extend([key] if child.type == "error" else [])
            key = getattr(child, "key", None) or key
            if hasattr(child, "children"):
                walk(child)

    walk(app.sidebar)
    (there,) = found
    return there


def test_what_is_wrong_in_the_form_is_said_at_its_field_and_nothing_is_sent(sent):
    app = form()
    app.sidebar.text_area(key="own_question").set_value(" ").run()
    assert error_below(app) == "own_question"
    assert app.sidebar.button(key="own_send").disabled
    app.sidebar.text_area(key="own_text_2").set_value(texts(app)[0]).run()
    assert "Document 2 is the same as document 1" in app.error[0].value
    app.sidebar.text_area(key="own_text_2").set_value("Lisbon " * 600).run()
    app.sidebar.text_area(key="own_question").set_value("Where?").run()
    assert "demo-gpt2 reads 512" in app.error[0].value
    assert any(":red[" in line.value for line in app.sidebar.markdown)
    for number in (1, 2):
        app.sidebar.text_area(key=f"own_text_{number}").set_value("").run()
    assert app.error[0].value == "Document 1 is empty: write something, or paste a text."
    assert sent == []


def test_a_finished_answer_opens_by_its_own_address(gallery):
    kept = made_up()
    app = finished(over(result=kept.result), kept.prompt)
    assert app.query_params["result"] == kept.prompt.id
    assert own_prompts.find(kept.prompt.id) == kept


def test_what_is_typed_while_an_answer_is_computed_stays_and_what_another_link_replaces_comes_back(sent):
    asked, other = (own_prompts.keep(*made_up(question)[:2]) for question in ("Where?", "When?"))
    both = "from heval_core.ui import own_answer, sidebar\nsidebar.draw(True)\nown_answer.under_way()"
    app = AppTest.from_string(both, default_timeout=300)
    app.query_params["result"] = asked
    ran(app).sidebar.text_area(key="own_text_1").set_value("Typed.").run()
    app.session_state[sidebar.TICKET], app.session_state[sidebar.PROMPT] = over(result=made_up("Who?").result), ASKED
    assert texts(ran(app))[0] == "Typed."
    app.query_params["result"] = other
    assert texts(app.run())[0] == "Iceland is cold."
    app.sidebar.button(key="own_put_back").click().run()
    assert texts(app)[0] == "Typed."


def test_a_refusal_is_said_and_opens_nothing():
    app = finished(over(error="The model is too small.", request={"before": made_up().result}), ASKED)
    assert "result" not in app.query_params
    assert [error.value for error in app.error] == ["The model is too small\\."]


@pytest.mark.parametrize(("seconds", "cancelled"), [(0, []), (1e4, [0])])
def test_a_press_where_explain_stood_a_moment_ago_is_no_wish_to_stop(monkeypatch, seconds, cancelled):
    stopped: list[int] = []
    ticket = over(over=threading.Event(), began=1e6, worker=SimpleNamespace(cancel=lambda ticket: stopped.append(0)))
    monkeypatch.setattr(sidebar, "time", SimpleNamespace(monotonic=lambda: 1e6 + seconds))
    app = AppTest.from_string("from heval_core.ui import sidebar\nsidebar.draw(False)", default_timeout=300)
    app.session_state[sidebar.TICKET] = ticket
    app.run().sidebar.button(key="own_stop").click().run()
    assert stopped == cancelled


def test_an_answer_stays_while_more_is_asked_of_it(sent, monkeypatch):
    ticket, result = over(ahead=0, progress=["attnlrp done"]), made_up().result
    monkeypatch.setattr(own_answer, "begin", lambda request: sent.append(request) or ticket)
    monkeypatch.setattr(sidebar, "models_here", lambda: {ASKED.model: None})
    monkeypatch.setattr(sidebar, "request_of", lambda *_: {})
    own_answer._answer({"what": "method", "about": "attnlrp", "part": [0, 1]}, ASKED, result)
    assert sent == [{"more": ["attnlrp"], "before": result, "part": [0, 1], "against": None}]
    ticket.request = sent[0]
    assert own_answer.status_of(ticket)["text"].startswith("1 of 1 steps.")
    monkeypatch.setattr(own_answer.st, "session_state", {sidebar.TICKET: ticket})
    own_answer._answer({"what": "method", "about": "cgim"}, ASKED, result)  # it would take the place of what is computed
    assert len(sent) == 1


@pytest.mark.parametrize(("text", "said"), [
    ("{", "is broken"), ("[]", "is broken"), (json.dumps({"version": 1, "asked": {}, "result": {}}), "is broken"),
    (json.dumps({"version": 99}), "is of a newer HEval"),
    (json.dumps({"version": 1, "asked": asdict(ASKED), "result": {"generated": {}}}), "is broken"),
    (json.dumps({"version": 1, "asked": asdict(ASKED), "result": ["<script>"]}), "is broken"),
])  # fmt: skip
def test_a_kept_file_that_is_broken_or_newer_is_said_in_one_line(gallery, text, said):
    gallery.mkdir()
    (gallery / "abc.json.gz").write_bytes(gzip.compress(text.encode()) if text != "{" else b"{")
    with pytest.raises(HEvalError, match=said):
        own_prompts.find("abc")
    assert own_prompts.find("../abc") is None


WORD, MATRIX = ("generated", "words", 0), ("generated", "matrix")
HOSTILE = [
    (("tokens",), []), (("tokens",), {}), (("documents", 0, "end"), 10**9), (("generated", "probabilities"), ["x"]),
    ((*WORD, "source"), ["x"]), ((*WORD, "source"), "document abc"), ((*WORD, "nats"), "much"), ((*WORD, "start"), math.inf),
    ((*WORD, "nats"), None),
    ((*WORD, "end"), 10**9), ((*MATRIX, "attn", "seconds"), "long"), ((*MATRIX, "document", "seconds"), ["x"]),
    ((*MATRIX, "attn", "units", 0, "end"), 10**9), ((*MATRIX, "cgim", "values"), [[math.nan]]),
    (("generated", "sentences", 0, "citations", 0, "nats"), "x"), ((*MATRIX, "document", "seconds"), "1e999"),
    ((*WORD, "nats"), "1e999"), (("documents", 1, "start"), 3),
]  # fmt: skip


def test_hostile_files_cost_their_own_answers_and_no_others(gallery):
    own_prompts.keep(*made_up("Kept?")[:2])
    (gallery / "folder.json.gz").mkdir()
    for number, (path, value) in enumerate(HOSTILE):
        own_prompts.write(file := gallery / f"{number:012x}.json.gz", *made_up()[:2])
        content = json.loads(gzip.decompress(file.read_bytes()))
        part = functools.reduce(operator.getitem, path[:-1], content["result"])
        part[path[-1]] = value
        file.write_bytes(gzip.compress(json.dumps(content).replace('"1e999"', "1e999").encode()))
        with pytest.raises(HEvalError, match="broken"):
            own_prompts.find(file.name.split(".")[0])
    (own,) = (cards for title, cards in own_prompts.cards() if title == "Kept on this machine")
    assert [card.title for card in own] == ["demo-gpt2: Kept?"]
    open_page("your_prompt")
    open_form()


def test_an_answer_that_is_stopped_takes_nothing_from_the_one_that_is_kept():
    kept = made_up()
    fewer = {key: kept.result.generated.matrix[key] for key in ("document", "attn")}
    name = own_prompts.keep(kept.prompt, kept.result)
    finished(over(partial=made_up(matrix=fewer).result, cancelled=True), kept.prompt)
    assert own_prompts.find(name) == kept
    (own_prompts.gallery() / f"{name}.json.gz").write_bytes(b"{")
    assert own_prompts.find(own_prompts.keep(kept.prompt, made_up(matrix=fewer).result)).result == made_up(matrix=fewer).result


def test_an_answer_that_is_gone_is_said_and_its_prompt_can_be_asked_again():
    assert "no longer here" in text_of(open_page("your_prompt", result="0123456789ab"))
    assert "This link asks demo\\-gpt2" in text_of(open_page("your_prompt", asked=own_prompts.packed(ASKED)))
    assert "cannot be read" in open_page("your_prompt", asked="@@").error[0].value


@pytest.mark.parametrize(("query", "documents"), [
    ({"without": "2"}, ("Iceland is cold.",)), ({"without": "1.1", "instead": "It is hot."}, ("It is hot.", "It costs 60.")),
    ({"without": "3"}, None), ({"without": "1.2"}, None), ({"without": "0"}, None), ({"without": "-1"}, None), ({}, None),
])  # fmt: skip
def test_a_links_change_is_written_again_once(monkeypatch, query, documents):
    requests = []
    monkeypatch.setattr(own_answer, "begin", lambda request: requests.append(request) or over(result=made_up().result))
    kept = made_up()
    ran(open_page("your_prompt", result=own_prompts.keep(kept.prompt, kept.result), **query))
    assert [tuple(request["documents"]) for request in requests] == ([documents] if documents else [])


def test_a_links_prompt_fills_the_form():
    app = open_form(True, asked=own_prompts.packed(ASKED))
    assert texts(app) == list(ASKED.documents)
    assert app.sidebar.multiselect(key="own_explainers").value == ["attn", "cgim"]
    app.sidebar.text_area(key="own_text_1").set_value("It is Oslo.").run()
    assert texts(app)[0] == "It is Oslo."


def test_a_packed_request_is_read_back_and_anything_else_is_no_request():
    asked = replace(ASKED, question="“ü” \u202e </script>")
    assert own_prompts.unpacked(own_prompts.packed(asked)) == asked
    whole = asdict(asked)

    def pack(value):
        return base64.urlsafe_b64encode(zlib.compress(json.dumps(value).encode())).decode()

    wrong = ["", "@@", "abc", pack([1]), pack({}), pack(whole | {"more": 1}), pack(whole | {"documents": [1]})]
    wrong += [pack(whole | {"question": None}), pack(whole | {"generate": 10**9}), pack(whole | {"documents": "x"})]
    wrong += [base64.urlsafe_b64encode(zlib.compress(b"[" * 100_000)).decode()]
    wrong += [base64.urlsafe_b64encode(zlib.compress(b" " * 10_000_000)).decode()]
    assert [own_prompts.unpacked(text) for text in wrong] == [None] * len(wrong)


def test_what_explaining_costs_is_known_from_the_models_last_answer(gallery):
    assert own_prompts.seconds_of("demo-gpt2", 110) is None
    own_prompts.keep(ASKED, made_up().result)
    assert own_prompts.seconds_of("demo-gpt2", 110) == 0.5 * 4 * 110 / 11
    assert own_prompts.seconds_of("another", 110) is None


def test_the_oldest_answers_make_room(monkeypatch, gallery):
    monkeypatch.setattr(own_prompts, "MOST_KEPT", 2)
    gallery.mkdir()
    (foreign := gallery / "my-corpus-01.json.gz").write_bytes(b"somebody's own")
    names = []
    for place, question in enumerate("abc"):
        names.append(own_prompts.keep(*made_up(question)[:2]))
        os.utime(gallery / f"{names[-1]}.json.gz", (place, place))
    assert [own_prompts.find(name) is not None for name in names] == [False, True, True]
    assert foreign.is_file()
    assert not list(gallery.glob("*.tmp"))
    app = open_page("your_prompt", result=names[2])
    app.button(key="own_forget").click().run()
    assert (own_prompts.find(names[2]), own_prompts.mine()) == (None, [names[1]])


def test_what_is_drawn_is_what_the_object_says():
    kept = made_up()
    data, said = answer_drawing(kept.result, kept.prompt.explainers), kept.result.generated
    for shown, known in ((data.words, said.words), (data.sentences, said.sentences)):
        assert [{name: getattr(one, name) for name in vars(of)} for one, of in zip(shown, known, strict=True)] == [
            *map(vars, known)
        ]
    methods = {own.key: own for own in data.methods}
    assert list(methods) == ["document(unit=sentence)", "attn", "cgim", "mechlight"]
    for key in ("document(unit=sentence)", "attn", "cgim"):
        assert methods[key].values == said.matrix[key].values
        assert methods[key].units == ((0, 4), (4, 8))
        assert bool(methods[key].nats) == (key not in ("attn", "cgim"))
    assert (methods["mechlight"].values, methods["mechlight"].refused) == (None, "the model has no heads")
    assert [document.sentences for document in data.documents] == [((0, 4),), ((4, 8),)]
    assert data.words[3].probability == 1e-13


def test_a_file_of_its_own_makes_no_request_and_its_text_is_no_markup():
    kept = made_up("</script><img src=x>")
    page = answer_page(kept.result, kept.prompt.question)
    assert "<img" not in page
    assert not re.findall(r"(?:src|href)=[\"']?(?:http|//)", page)
    data = json.loads(re.search(r"start\(\{ data: (.*), parentElement: document \}\);", page)[1])
    assert data["words"] == json.loads(json.dumps(asdict(answer_drawing(kept.result))["words"]))


def test_a_card_has_every_word_with_its_bar_and_says_what_was_found():
    card = answer_card(made_up().result, "Where?")
    bars = {"document 1": HUES[0], "document 2": HUES[1], "memory": GREY}
    data = answer_drawing(made_up().result)
    assert re.findall(r'textLength="[^>]*>([^<]*)</text>', card) == [own.text.strip() for own in data.words]
    sized = re.findall(r'height="([\d.]+)" rx="1.5" fill="(#\w+)"', card)
    assert [colour for _, colour in sized] == [bars[own.source] for own in data.words if own.source in bars]
    first, memory, second = (float(height) for height, _ in sized)
    assert second > first > memory  # 6 nats, 3, none
    assert card.count("stroke-dasharray") == 1
    assert (
        "made-up wrote this: 1 of 3 words rests on document 1, 1 on document 2, 1 unclear." in card
    )  # a full stop is no word
    assert "made-up read this: 1 of 3 words rests on document 1, " in answer_card(made_up(given=True).result, "Where?")
    assert on_card("id", "", "", data).found == "1 of 3 rest on document 1"
    assert re.findall(r"<tspan[^>]*>(\d)</tspan> ([^<]*)<", card) == [("1", "Iceland is cold."), ("2", "It costs 60.")]
    ElementTree.fromstring(answer_card(made_up().result, "What\x0cis \ud83d"))  # no character that XML does not know


def test_without_a_document_the_words_that_change_are_marked_and_whether_bars_had_said_so():
    before = made_up().result
    words = [word(0, " Iceland", "memory", 0.1), word(1, ".", "memory", 0.1), word(2, " cheap", "document 1", 1.0)]
    found = compared(before, made_up(words=words).result, Change(1))
    assert found.before == [(" Iceland", False), (".", False), (" 60", True), (" maybe", True)]
    assert found.after == [(" Iceland", False), (".", False), (" cheap", True)]
    assert found.said == "Predicted: 1 word. 1 of the 2 that changed were among them; 0 stayed."
    assert found.title == "Without document 2"
    same = compared(before, before, Change(0, 0, "Iceland is warm."))
    assert same.title == "With another sentence 1 of document 1"
    assert same.said == "The answer stays the same, word for word."
    longer = made_up(words=[*before.generated.words, word(3, " so", "memory", 0.1)]).result
    assert compared(before, longer, Change(0)).said == "No word goes; 1 more follow."
    lines = made_up(
        prompt={"tokens": ["One", ".\n", "Two.", "\nThree", "."], "documents": [{"start": 0, "end": 5}]}, matrix={}
    ).result
    assert [Change(0, place).applied(lines) for place in (0, 1)] == ["Two.\nThree.", "One.\n\nThree."]


@pytest.mark.parametrize(("change", "text", "source"), [
    (Change(0), "", 1),
    (Change(0, 0, " It is warm. "), "It is warm.", 1),
    (Change(1, 0), "", 1),
])  # fmt: skip
def test_a_change_replaces_its_sentence_and_knows_whose_words_it_was_said_to_give(change, text, source):
    before = made_up().result
    assert change.applied(before) == text
    words = [word(0, " Nothing", "memory", 0.1)]
    said = compared(before, made_up(words=words).result, change).said
    assert said == f"Predicted: {source} word. {source} of the 4 that changed were among them; 0 stayed."
