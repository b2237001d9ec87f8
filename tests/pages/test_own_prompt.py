"""A prompt of one's own: its form, what is kept of its answer, its link, its files, and what is drawn."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from heval_core.lm.installed import installed_models
from heval_core.ui import own_answer, own_draft, own_prompts, own_requests, prompt_options, sidebar
from tests.pages.opening import finished, open_form, open_page, ran, send, text_of, under_way
from tests.pages.whole_answers import ASKED, made_up, over

pytestmark = pytest.mark.usefixtures("gallery")


def form():
    app = open_form()
    app.sidebar.button(key="own_example").click().run()
    return app.sidebar.selectbox(key="own_model").set_value("demo-gpt2").run()


def texts(app):
    return [box.value for box in app.sidebar.text_area if box.key.startswith("own_text_")]


def test_the_form_sends_what_it_holds(sent, monkeypatch):
    monkeypatch.setattr("heval_core.ui.prompt_options.has_bfloat16", lambda: True)
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


@pytest.mark.parametrize(("here", "model", "dtype"), [
    (True, "SmolLM2-135M-Instruct.Q4_1", "bfloat16"), (True, "demo-gpt2", "float32"),
    (False, "SmolLM2-135M-Instruct.Q4_1", "float32"),
])  # fmt: skip
def test_a_model_that_says_the_same_in_bfloat16_computes_in_it_where_the_processor_has_it(monkeypatch, here, model, dtype):
    monkeypatch.setattr(prompt_options, "has_bfloat16", lambda: here)
    assert prompt_options.usual_dtype(model) == dtype


@pytest.mark.parametrize(("words", "offered"), [(20, []), (100, [sidebar.SCREENED]), (300, [sidebar.SCREENED])])
def test_a_long_prompts_feature_ablation_is_of_the_sentences_that_matter_and_waits_for_a_click(sent, words, offered):
    app = form()
    app.sidebar.multiselect(key="own_explainers").set_value(["fa", "attn"])
    app.sidebar.text_area(key="own_text_1").set_value("Oslo is far. " * (words // 4)).run()
    send(app)
    assert sent[0]["explainers"] == ["attn"]
    (asked,) = own_requests._requests.values()
    assert asked.prompt.explainers == (*offered, "fa", "attn")


def test_documents_are_added_pasted_moved_and_removed(sent):
    app = form()
    one, other = texts(app)
    app.sidebar.button(key="own_up_2").click().run()
    assert texts(app) == [other, one]
    app.sidebar.button(key="own_add").click().run()
    app.sidebar.text_area(key="own_pasted").set_value("First.\n \nSecond\nline.\n\n\n").run()
    assert app.sidebar.radio(key="own_cut").options == ["empty lines: 2 documents", "nothing: 1 document"]
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


@pytest.mark.parametrize(("pasted", "cuts"), [
    ("", {"nothing": []}), ("One.\nTwo.", {"nothing": ["One.\nTwo."]}),
    ("One.\n\nTwo.", {"empty lines": ["One.", "Two."], "nothing": ["One.\n\nTwo."]}),
    ("A.\n\nB.\n---\nC.", {"lines of ---": ["A.\n\nB.", "C."], "empty lines": ["A.", "B.\n---\nC."],
                           "nothing": ["A.\n\nB.\n---\nC."]}),
    ("A.\n\n---\n\nB.", {"lines of ---": ["A.", "B."], "empty lines": ["A.", "B."], "nothing": ["A.\n\n---\n\nB."]}),
])  # fmt: skip
def test_a_pasted_text_is_cut_as_one_says_where_that_is_not_plain(pasted, cuts):
    assert sidebar.cuts_of(pasted) == cuts


def test_the_form_starts_empty_and_what_is_pasted_takes_the_place_of_an_untouched_example(sent):
    app = open_form()
    assert (texts(app), app.sidebar.text_area(key="own_question").value) == (["", ""], "")
    assert app.sidebar.text_area(key="own_text_1").placeholder == sidebar.FIRST[0][0]
    app.sidebar.button(key="own_example").click().run()
    assert texts(app) == list(sidebar.FIRST[0])
    app.sidebar.text_area(key="own_pasted").set_value("Mine.\n---\nToo.").run()
    app.sidebar.button(key="own_paste").click().run()
    assert texts(app) == ["Mine.", "Too."]


@pytest.mark.parametrize(("filled", "offered"), [("", False), ("0123456789ab", True)])
def test_a_draft_is_put_back_after_a_reload_and_beside_another_link_it_is_offered(monkeypatch, filled, offered):
    told: list[str | None] = []
    draft = json.dumps({"asked": own_prompts.packed(ASKED), "filled": filled})

    def component(name, key, data, width, held):
        told.append(data["draft"])
        st.button("The tab answers", key="answers", on_click=held, args=(draft,))

    monkeypatch.setattr(own_draft, "component", component)
    app = open_form(True)
    assert told == [None]  # what the tab holds is not written over
    app.button(key="answers").click().run()
    assert (texts(app) == list(ASKED.documents)) is not offered
    assert bool([one for one in app.button if one.key == "own_put_back"]) is offered
    assert "asked" in json.loads(told[-1])


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
    app.sidebar.text_area(key="own_question").set_value("").run()
    assert not app.error  # of an empty form nothing is wrong yet
    assert app.sidebar.button(key="own_send").disabled
    assert sent == []


def test_a_finished_answer_opens_by_its_own_address(gallery):
    kept = made_up()
    app = finished(over(result=kept.result), kept.prompt)
    assert app.query_params["result"] == kept.prompt.id
    assert own_prompts.find(kept.prompt.id) == kept


def test_what_is_typed_while_an_answer_is_computed_stays_and_what_another_link_replaces_comes_back(sent):
    asked, other = (own_prompts.keep(*made_up(question)[:2]) for question in ("Where?", "When?"))
    app = open_form(True, result=asked)
    app.sidebar.text_area(key="own_text_1").set_value("Typed.").run()
    send(app)
    own_prompts.keep(made_up("Who?").prompt, made_up("Who?").result)
    assert texts(ran(app))[0] == "Typed."
    app.query_params["result"] = other
    assert texts(app.run())[0] == "Iceland is cold."
    app.sidebar.button(key="own_put_back").click().run()
    assert texts(app)[0] == "Typed."


def test_a_refusal_is_said_and_nothing_is_kept():
    app = finished(over(error="The model is too small."), ASKED)
    assert [error.value for error in app.error] == ["The model is too small\\."]
    assert own_prompts.mine() == []
    assert "no longer here" not in text_of(app)


@pytest.mark.parametrize(("seconds", "cancelled"), [(0, []), (1e4, [0])])
def test_a_press_where_explain_stood_a_moment_ago_is_no_wish_to_stop(monkeypatch, seconds, cancelled):
    stopped: list[int] = []
    ticket = over(over=threading.Event(), began=1e6, worker=SimpleNamespace(cancel=lambda ticket: stopped.append(0)))
    monkeypatch.setattr(sidebar, "time", SimpleNamespace(monotonic=lambda: 1e6 + seconds))
    open_form(True, result=under_way(ticket, ASKED)).sidebar.button(key="own_stop").click().run()
    assert stopped == cancelled


def test_an_answer_stays_while_more_is_asked_of_it(sent, monkeypatch):
    result = made_up().result
    monkeypatch.setattr(sidebar, "models_here", lambda: {ASKED.model: None})
    monkeypatch.setattr(sidebar, "request_of", lambda *_: {})
    own_answer._answer({"what": "method", "about": "attnlrp", "part": [0, 1]}, ASKED, result, None)
    assert sent == [{"more": ["attnlrp"], "before": result, "part": [0, 1], "against": None}]
    asked = own_requests.of(ASKED.id)
    assert asked.prompt.explainers == (*ASKED.explainers, "attnlrp")
    assert asked.known == result  # until there is more
    ticket = over(ahead=[], progress=["attnlrp done"], request=sent[0])
    assert own_answer.status_of(ticket)["text"].startswith("1 of 1 steps.")
    ticket.progress = ["level done", "level done", "now level"]
    assert own_answer.status_of(ticket)["text"].startswith(
        "Now: the random level, of texts about something else: 11 to 15 of at most 20. "
    )
    ticket.over.clear()
    own_answer._answer({"what": "method", "about": "cgim"}, ASKED, result, own_requests.OwnRequest(ASKED, ticket))
    assert len(sent) == 1  # it would take the place of what is computed


def test_whoever_opens_the_address_of_a_request_takes_it_up_and_can_end_it(monkeypatch):
    """A reload, and a second tab."""
    ended: list[object] = []
    ticket = over(over=threading.Event(), ahead=[], worker=SimpleNamespace(cancel=ended.append), request={"explainers": []})
    ticket.partial = made_up().result
    drawn: list[tuple] = []
    monkeypatch.setattr(own_answer, "component", lambda name, key, data, **heard: drawn.append((key, data, heard)))
    name = under_way(ticket, ASKED)
    for looked in (1, 2):
        app = open_page("your_prompt", result=name)
        assert not app.error
        key, data, heard = drawn[-1]
        assert (key, data["words"][0]["text"], len(drawn)) == (f"answer_{name}", " Iceland", looked)
        assert ticket.seen is not None
    heard["asked"](json.dumps({"what": "stop"}))
    assert ended == [ticket]


def test_the_same_question_is_asked_once_at_a_time_and_what_waits_is_named(monkeypatch, sent):
    begun = iter([over(over=threading.Event(), ahead=[], request={"explainers": []}) for _ in range(2)])
    monkeypatch.setattr(own_requests, "begin", lambda request, **how: sent.append(request) or next(begun))
    first = own_requests.ask(ASKED, {"model": "demo-gpt2"})
    assert own_requests.ask(replace(ASKED, explainers=()), {"model": "demo-gpt2"}) is first
    assert len(sent) == 1
    other = own_requests.ask(replace(ASKED, question="When?"), {"model": "demo-gpt2"})
    other.ticket.ahead = [first.ticket]
    monkeypatch.setattr(own_answer, "component", lambda *drawn, **heard: None)
    app = open_page("your_prompt", result=other.prompt.id)
    assert "The model is at *Where?*" in text_of(app)
    stopped: list[object] = []
    first.ticket.worker = SimpleNamespace(cancel=stopped.append)
    app.button(key="own_busy_stop").click().run()
    assert stopped == [first.ticket]


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
