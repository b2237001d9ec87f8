"""Answer in a word: named answers, the request, what is kept of it, and the surface that it opens on."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from heval_core import explain
from heval_core.lm.installed import installed_models
from heval_core.plugins import catalogue
from heval_core.present.html import plain
from heval_core.prompt_service import child
from heval_core.prompting.prompts import TEMPLATE
from heval_core.records import HEvalError
from heval_core.records.whole_answers import applied
from heval_core.records.word_answers import read_word
from heval_core.ui import own_answer, own_prompts, own_requests, own_word, sidebar
from tests.pages.opening import open_form, open_page, send, text_of
from tests.pages.whole_answers import ASKED, made_up

pytestmark = pytest.mark.usefixtures("gallery")
DOCUMENTS = ("According to a world atlas: The capital of Kenya is Lisbon.", "The capital of Kenya is Nairobi, says a blog.")
QUESTION = "What is the capital of Kenya?"
WORD = replace(
    ASKED, model="demo-qwen2", documents=DOCUMENTS, question=QUESTION, explainers=("mechlight", "attn"), template=TEMPLATE,
    mode="word", answers=("Lisbon", "Nairobi"),
)  # fmt: skip


@pytest.fixture(scope="module")
def served():
    """A function: a prompt ▶ what the worker says of it."""
    loaded: dict = {}

    def ask(prompt):
        heard: list[dict] = []
        child.serve(
            dict(sidebar.word_request_of(prompt, {prompt.model: installed_models()[prompt.model].path})), loaded, heard.append
        )
        return [json.loads(json.dumps(message, default=asdict)) for message in heard]

    return ask


@pytest.mark.parametrize(("text", "answers", "memory"), [
    ("", (), ""), ("Lisbon / Nairobi", ("Lisbon", "Nairobi"), ""), ("Nairobi/Lisbon", ("Lisbon", "Nairobi"), ""),
    ("Nairobi", ("", "Nairobi"), ""), ("Oslo / Lisbon", ("Lisbon", ""), "Oslo"), ("Oslo", (), "Oslo"),
    ("capital / capital / Kenya", ("capital", "Kenya"), ""), ("Lis", (), "Lis"),
])  # fmt: skip
def test_each_named_answer_is_that_of_the_document_in_which_it_stands(text, answers, memory):
    assert own_word.named(text, DOCUMENTS) == (answers, memory)
    assert own_word.named(own_word.as_text(answers, memory), DOCUMENTS) == (answers, memory)


def test_two_answers_that_stand_nowhere_are_refused_at_the_field_and_nothing_is_sent(sent):
    with pytest.raises(ValueError, match="Oslo and Rome stand in no document"):
        own_word.named("Oslo / Rome", DOCUMENTS)
    app = open_form()
    app.sidebar.button(key="own_example").click().run()
    app.session_state["own_mode"] = "word"
    app.run().sidebar.text_input(key="own_named").set_value("Oslo / Rome").run()
    (said,) = (error.value for error in app.error)
    assert said == plain("Oslo and Rome stand in no document of their own: one of them at most can be memory's.")
    assert app.sidebar.button(key="own_send").disabled
    app.sidebar.text_input(key="own_named").set_value("1976 / Oslo").run()
    send(app)
    (request,) = sent
    assert (request["op"], request["answers"], request["memory"]) == ("word", ["1976", ""], "Oslo")
    app.session_state["own_mode"] = "whole"
    app.run().session_state["own_mode"] = "word"  # what the other mode holds stays
    assert app.run().sidebar.text_input(key="own_named").value == "1976 / Oslo"
    assert request["explainers"] == list(catalogue.default_methods())  # as the batch has them


def test_a_links_word_fills_the_form(sent):
    app = open_form(True, asked=own_prompts.packed(WORD))
    assert app.sidebar.text_input(key="own_named").value == "Lisbon / Nairobi"
    assert app.sidebar.multiselect(key="own_word_explainers").value == ["mechlight", "attn"]
    assert own_prompts.unpacked(own_prompts.packed(WORD)) == WORD


@pytest.mark.slow
def test_the_worker_gives_what_explain_gives_and_it_opens_on_the_surface_of_instances(served, monkeypatch):
    *steps, told = served(WORD)
    assert [step["progress"] for step in steps if step["progress"].startswith("now ")] == ["now mechlight", "now attn"]
    answer = read_word(told["result"])
    folder = str(installed_models()["demo-qwen2"].path)
    same = explain(
        folder,
        question=QUESTION,
        context=list(DOCUMENTS),
        context_answer=["Lisbon", "Nairobi"],
        explainers="mechlight,attn",
        template=TEMPLATE,
    )
    assert answer.instance.tokens == same.tokens
    assert (answer.instance.group, answer.instance.predicted_text) == (same.behaviour.group, same.behaviour.text)
    for key, attribution in same.attributions.items():
        assert answer.attributions[key].scores == pytest.approx(attribution.scores, rel=1e-4, abs=1e-7)
    assert (
        answer.attributions["mechlight"].head_name
        == f"L{same.attributions['mechlight'].layer}H{same.attributions['mechlight'].head}"
    )
    name = own_prompts.keep(WORD, answer)
    assert own_prompts.find(name).result == answer
    (line,) = (one for one in own_prompts.answer_lines() if one.id == name)
    assert (line.said, line.whole) == ("Lisbon", False)
    drawn: dict = {}
    monkeypatch.setattr("heval_core.ui.reading.component", lambda name, key, data, **heard: drawn.update(data))
    app = open_page("your_prompt", result=name)
    assert not app.error
    assert drawn["answer"] == {"text": "Lisbon", "share": drawn["answer"]["share"], "from": "from document 1"}
    assert [row["key"] for row in drawn["rows"]] == ["mechlight", "attn"]
    assert drawn["chance"] is not None
    assert drawn["heads"]["chosen"] == answer.attributions["mechlight"].head_name
    assert "explained: Lisbon (from document 1) against Nairobi (from document 2)" in text_of(app).replace("\\", "")


@pytest.mark.slow
def test_the_next_word_of_an_answer_that_has_begun_is_the_one_the_model_would_write(served):
    whole = read_word(served(WORD)[-1]["result"])
    begun = replace(WORD, answers=(), begun=(whole.instance.predicted_id,))
    *_, told = served(begun)
    after = read_word(told["result"]).instance
    assert after.tokens[: len(whole.instance.tokens)] == whole.instance.tokens
    assert after.tokens[len(whole.instance.tokens) :] == (whole.instance.predicted_text,)
    assert after.ranked == whole.instance.ranked  # what the model wrote is never ranked


def test_look_inside_a_word_asks_for_it_behind_the_words_before(sent, monkeypatch):
    kept = made_up()
    monkeypatch.setattr(sidebar, "models_here", lambda: {ASKED.model: installed_models()["demo-gpt2"].path})
    own_answer._answer({"what": "inside", "about": 2}, kept.prompt, kept.result, None)
    (request,) = sent
    assert (request["op"], request["begun"], request["answers"]) == ("word", [1, 2], ["", "60"])
    (asked,) = own_requests._requests.values()
    assert asked.prompt.mode == "word"


@pytest.mark.parametrize("wrong", [
    lambda told: told.pop("instance"), lambda told: told["attributions"]["attn"].update(scores=[1.0]),
    lambda told: told["attributions"]["attn"]["scores"].__setitem__(0, float("inf")),
    lambda told: told["instance"]["documents"][0].update(end=10**9), lambda told: told.update(layers=0),
    lambda told: told["instance"].update(ranked_end=10**9), lambda told: told["instance"]["documents"][1].update(start=0),
    lambda told: told["attributions"]["mechlight"].update(head_scores=None),
    lambda told: told["instance"].update(predicted_probability=float("inf")),
])  # fmt: skip
@pytest.mark.slow
def test_a_file_that_no_page_could_draw_is_refused(served, wrong):
    told = served(WORD)[-1]["result"]
    wrong(told)
    with pytest.raises(HEvalError, match="broken"):
        read_word(told)


@pytest.mark.slow
@pytest.mark.parametrize("template", ["auto", "plain"])
@pytest.mark.parametrize("mode", ["word", "whole"])
def test_the_code_that_is_offered_asks_the_very_same_prompt(mode, template):
    prompt = replace(WORD, mode=mode, template=template, answers=WORD.answers if mode == "word" else (), generate=2)
    there: dict = {}
    exec(own_prompts.as_code(prompt), there)
    asked = there["result"].tokens if mode == "word" else there["result"].record.tokens
    heard: list[dict] = []
    folder = {prompt.model: installed_models()[prompt.model].path}
    child.serve(dict((sidebar.word_request_of if mode == "word" else sidebar.request_of)(prompt, folder)), {}, heard.append)
    if mode == "word":
        assert asked == read_word(json.loads(json.dumps(heard[-1]["result"], default=asdict))).instance.tokens
        return
    known: dict = {}
    for message in heard:
        known = applied(known, json.loads(json.dumps(message["new"], default=asdict))) if "new" in message else known
    assert list(asked) == known["tokens"]
