"""A prompt of one's own: its form, what is kept of it, its link, and how it is shown."""

from __future__ import annotations

import base64
import json
import threading
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from heval_core import catalogue
from heval_core.installed import installed_models
from heval_core.records import Span
from heval_core.stored import PromptDocument, StoredInstance
from heval_core.ui import own_prompts, sidebar
from heval_core.ui.instance_tables import tokens_of
from heval_core.ui.own_prompts import Kept
from heval_core.ui.reading import Row, prompt_data
from tests.pages.opening import open_page


def made_up(question="Where?", bos=False, second="beta"):
    """A result as the worker gives it. With a BOS the first token has by far the largest score."""
    tokens = [*(["<s>"] if bos else []), "alpha", f" {second}", " Q:", f" {question}", " A:"]
    first, n = int(bos), len(tokens)
    scores = [9.0] * first + [float(i) for i in (1, 4, 3, 2, 0)]
    found = {"scores": scores, "normalised": scores, "seconds": 0.1, "settings": {}}
    result = {
        "model": "made-up",
        "prompt": "".join(tokens[first:]),
        "tokens": tokens,
        "token_ids": list(range(n)),
        "first_ranked": first,
        "documents": [{"start": first, "end": first + 2, "answer": "beta", "answer_tokens": [first + 1]}],
        "question": {"start": first + 2, "end": first + 4},
        "foil": "runner-up",
        "target": "answer",
        "target_text": " beta",
        "answer": {
            "text": " beta",
            "token_id": 1,
            "probability": 0.5,
            "group": "C",
            "memory_answer": "x",
            "answer_text": None,
            "candidates": [{"group": "C", "text": " beta", "token_id": 1, "logit": 1.0, "probability": 0.5}],
        },
        "explainers": {"fa": found, "ig": found},
        "refused": {},
    }
    return Kept(asked_of(question, f"alpha {second}"), result)


def asked_of(question="Where?", document="alpha beta", answer="beta"):
    return {
        "model": "demo-gpt2",
        "documents": [document],
        "context_answers": [answer],
        "question": question,
        "memory_answer": None,
        "explainers": ["fa", "ig"],
        "match": "first",
        "target": "answer",
        "template": "plain",
    }


SIDEBAR = "from heval_core.ui import sidebar\nsidebar.draw()"


@pytest.fixture
def sent(monkeypatch):
    """The requests that the sidebar's button sends, none of which is carried out."""
    requests: list[dict] = []
    monkeypatch.setattr("heval_core.ui.sidebar.begin", lambda request: requests.append(request))
    return requests


def form():
    app = AppTest.from_string(SIDEBAR, default_timeout=60).run()
    return app.sidebar.selectbox(key="own_model").set_value("demo-gpt2").run()


def send(app):
    app = app.sidebar.button(key="own_send").click().run()
    assert not app.exception
    return [error.value for error in app.error]


def opened(*kept, **query):
    names = [own_prompts.keep(*each) for each in kept]
    return open_page("your_prompt", **({"result": names} if names else {}), **query), names


def test_the_sidebar_asks_for_the_default_explainers_and_options(demo, sent):
    assert send(form()) == []
    (request,) = sent
    assert request["explainers"] == list(catalogue.default_methods())
    assert (request["match"], request["target"]) == ("first", "answer")
    assert request["model"] == str(installed_models()["demo-gpt2"])
    assert len(request["documents"]) == len(request["context_answers"]) == 2


def test_chosen_explainers_and_options_are_sent(demo, sent):
    app = form()
    app.sidebar.multiselect(key="own_explainers").set_value(["attn"])
    app.sidebar.radio(key="own_match").set_value("text")
    app.sidebar.radio(key="own_target").set_value("context")
    assert send(app) == []
    (request,) = sent
    assert request["explainers"] == ["attn"]
    assert (request["match"], request["target"]) == ("text", "context")
    assert any("about 1 forward passes" in caption.value for caption in app.sidebar.caption)


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


def test_what_is_wrong_in_the_form_is_said_at_its_field(sent):
    app = form()
    app.sidebar.multiselect(key="own_explainers").set_value([]).run()
    assert error_below(app) == "own_explainers"
    app.sidebar.text_input(key="own_question").set_value(" ").run()
    assert error_below(app) == "own_question"
    app.sidebar.text_area(key="own_text_1").set_value("").run()
    # The first document that is asked for is the form's second one.
    app.sidebar.text_input(key="own_question").set_value("Where?").run()
    app.sidebar.multiselect(key="own_explainers").set_value(["fa"]).run()
    app.sidebar.radio(key="own_target").set_value("context").run()
    app.sidebar.text_input(key="own_answer_2").set_value("").run()
    assert error_below(app) == "own_answer_2"
    app.sidebar.text_area(key="own_text_2").set_value("Lisbon " * 600).run()
    app.sidebar.radio(key="own_target").set_value("answer").run()
    assert error_below(app) == "own_text_2"
    app.sidebar.text_area(key="own_text_2").set_value("").run()
    assert error_below(app) == "own_text_1"
    app = app.sidebar.button(key="own_send").click().run()
    assert [one.value for one in app.sidebar.caption][-1] == "Nothing was asked yet: a note above says what is missing."
    assert sent == []


@pytest.fixture
def gone_to(monkeypatch):
    """What the browser is asked to open."""
    asked = []
    monkeypatch.setattr("heval_core.ui.links.component", lambda name: lambda key, data: asked.append(data["go"]))
    return asked


def over(error=""):
    """A request that is over."""
    ticket = SimpleNamespace(over=threading.Event(), error=error, result=made_up().result)
    ticket.over.set()
    return ticket


def finished(ticket, own=False):
    """The sidebar as it is drawn when a request is over."""
    app = AppTest.from_string(f"from heval_core.ui import sidebar\nsidebar.draw({own})", default_timeout=60)
    app.session_state["own_ticket"], app.session_state["own_asked"] = ticket, made_up().asked
    return app.run()


def test_a_result_opens_by_itself_from_any_page(gone_to):
    name = own_prompts.id_of(made_up().asked)
    app = finished(over())
    assert gone_to == [f"your_prompt?result={name}"]
    # Until it is there: a page may be run again before the browser has drawn it.
    app.run()
    assert gone_to == 2 * [f"your_prompt?result={name}"]
    app = finished(over(), own=True)
    assert app.query_params["result"] == name
    assert len(gone_to) == 2
    assert own_prompts.find(name).result["model"] == "made-up"


def test_a_refusal_opens_nothing_and_stands_at_the_button(gone_to):
    app = finished(over("The model is too small."))
    assert error_below(app) == "own_send"
    assert [error.value for error in app.error] == ["The model is too small\\."]
    app.run()
    assert error_below(app) == "own_send"
    assert gone_to == []


def test_an_incomplete_form_says_so_and_is_not_sent(demo, sent):
    app = form()
    app.sidebar.multiselect(key="own_explainers").set_value([]).run()
    assert send(app) == ["No explainer is chosen; choose at least one, under Options."]
    app = form()
    app.sidebar.text_input(key="own_answer_1").set_value("").run()
    app.sidebar.radio(key="own_target").set_value("context").run()
    assert send(app) == ["To explain document 1's answer, fill in the answer of every document."]
    assert sent == []


def test_a_prompt_that_is_too_long_for_its_model_is_said_while_it_is_typed(demo, sent):
    app = form()
    assert any("of the 512 that demo\\-gpt2 reads" in caption.value for caption in app.sidebar.caption)
    app.sidebar.text_area(key="own_text_1").set_value("Lisbon " * 600).run()
    (error,) = [error.value for error in app.error]
    assert "demo-gpt2 reads at most 512" in error
    assert send(app) == [error]
    assert sent == []


def test_an_example_fills_the_form_and_documents_can_be_added(demo, sent):
    app = form()
    for title, (documents, question) in sidebar.EXAMPLES.items():
        app.sidebar.selectbox(key="own_example").set_value(title).run()
        assert [box.value for box in app.sidebar.text_area] == [text for text, _ in documents]
        assert app.sidebar.text_input(key="own_question").value == question
    app.sidebar.button(key="own_add").click().run()
    app.sidebar.text_area(key="own_text_2").set_value("Another one.").run()
    assert send(app) == []
    assert sent[-1]["documents"][1:] == ["Another one."]
    assert sent[-1]["context_answers"][1:] == [None]


def test_the_choice_is_remembered_for_the_next_prompt(demo, sent):
    app = form()
    app.sidebar.multiselect(key="own_explainers").set_value(["fa"])
    app.sidebar.radio(key="own_match").set_value("text")
    send(app)
    app.sidebar.text_input(key="own_question").set_value("And now?")
    send(app)
    assert [(request["explainers"], request["match"]) for request in sent] == [(["fa"], "text")] * 2


def test_a_kept_result_is_found_by_its_link_in_another_tab(demo):
    app, _ = opened(made_up())
    assert not app.exception
    assert not app.warning
    assert any(
        "Explained: the model's answer (beta). The group was decided by its first token." in c.value for c in app.caption
    )


def test_results_stand_side_by_side(demo):
    other = made_up(question="When?")
    other.result.update({"target": "context", "target_text": " gamma"})
    other.result["answer"]["answer_text"] = "beta and more"
    app, names = opened(made_up(), other)
    captions = " ".join(caption.value for caption in app.caption)
    assert "the model's answer (beta). The group was decided by its first token." in captions
    assert "document 1's answer (gamma). The group was decided by its whole text." in captions
    assert app.multiselect(key="result").value == names


def test_a_result_that_is_gone_is_said_and_its_prompt_can_be_computed_again(demo):
    app, _ = opened(result="0123456789ab")
    assert any("no longer here" in warning.value for warning in app.warning)
    asked = asked_of("What is the capital of Kenya?", "It is Lisbon.", "Lisbon")
    app, _ = opened(result="0123456789ab", asked=own_prompts.packed(asked))
    assert not app.warning
    assert any("This link asks demo\\-gpt2" in info.value for info in app.info)


def test_a_links_prompt_fills_the_form(demo):
    asked = asked_of("What is the capital of Kenya?", "It is Lisbon.", "Lisbon")
    app = AppTest.from_string(SIDEBAR.replace("draw()", "draw(on_own_page=True)"), default_timeout=60)
    app.query_params["asked"] = own_prompts.packed(asked)
    app.run()
    assert [box.value for box in app.sidebar.text_area] == ["It is Lisbon."]
    assert app.sidebar.text_input(key="own_answer_1").value == "Lisbon"
    assert app.sidebar.multiselect(key="own_explainers").value == ["fa", "ig"]
    app.sidebar.text_area(key="own_text_1").set_value("It is Oslo.").run()
    assert app.sidebar.text_area(key="own_text_1").value == "It is Oslo."


def test_a_packed_request_is_read_back_and_anything_else_is_no_request():
    asked = asked_of("Q?", "“ü” \u202e </script>", None)
    assert own_prompts.unpacked(own_prompts.packed(asked)) == asked
    assert own_prompts.id_of(asked) == own_prompts.id_of(dict(reversed(asked.items())))

    def pack(value):
        return base64.urlsafe_b64encode(zlib.compress(json.dumps(value).encode())).decode()

    wrong = ["", "@@", "abc", pack([1]), pack({}), pack(asked | {"more": 1}), pack(asked | {"documents": "x"})]
    wrong += [pack(asked | {"documents": [1]}), pack(asked | {"match": "evil"}), pack(asked | {"question": None})]
    wrong += [pack(asked | {"template": "{documents}"}), pack({k: v for k, v in asked.items() if k != "template"})]
    wrong += [pack(asked | {"documents": ["a", "b"]}), pack(asked | {"context_answers": []})]
    wrong += [base64.urlsafe_b64encode(zlib.compress(b"[" * 100_000)).decode()]
    wrong += [base64.urlsafe_b64encode(zlib.compress(b" " * 10_000_000)).decode()]
    assert [own_prompts.unpacked(text) for text in wrong] == [None] * len(wrong)


@pytest.mark.parametrize("more", [{}, {"pick": "L0H1"}, {"pin": "x"}, {"painted": "fb"}])
def test_results_side_by_side_read_one_address(more):
    """More of them than are shown are still there; a head is of one result only; what is wrong is said once."""
    names = [own_prompts.keep(kept.asked, kept.result) for kept in map(made_up, "abcd")]
    app = open_page("your_prompt", result=names, **more)
    assert not app.exception
    assert not app.warning
    assert len(app.error) == len(set(more) - {"pick"})


def test_the_oldest_results_make_room(monkeypatch):
    monkeypatch.setattr(own_prompts, "MOST_KEPT", 2)
    shelf = own_prompts._Shelf()
    for name in ("a", "b", "a", "c"):
        shelf.put(name, made_up())
    assert [shelf.get(name) is not None for name in "abc"] == [True, False, True]


def test_documents_that_agree_are_explained():
    kept = made_up()
    assert own_prompts.same_answer(kept) == ""
    kept.asked.update({"documents": ["a", "b", "c"], "context_answers": ["Lisbon", None, " Lisbon"]})
    assert own_prompts.same_answer(kept) == ""  # the model's own answer is another document's
    kept.result["answer"]["group"] = "ambiguous"
    assert own_prompts.same_answer(kept).startswith("Documents 1 and 3 agree on Lisbon, so the answer alone cannot tell")


def test_a_bos_is_not_ranked():
    kept = made_up(bos=True)
    table = tokens_of(own_prompts.instance_of(kept), own_prompts.rows_of(kept.result))
    assert np.isnan(table["rank, Feature ablation"][0])
    assert table["rank, Feature ablation"][1:].tolist() == [4, 1, 2, 3, 5]
    assert prompt_data(own_prompts.instance_of(kept), own_prompts.rows_of(kept.result))["rows"][0]["rank"] == 1


def test_what_is_not_ranked_shares_no_sentence_with_what_is():
    tokens = ("<s>", "A", " b", ".", " Q", "?")
    row = Row("fa", "Feature ablation", True, [0.0] * 6)
    for ranked_from, expected in ((1, ["<s>", "A b.", " Q?"]), (0, ["<s>A b.", " Q?"])):
        instance = StoredInstance(
            instance_id="i", model="m", revision="r", dataset="d", regime="conflicting", technique="regular", subject="s",
            tokens=tokens, first_ranked=ranked_from, documents=(PromptDocument(0, 4, "b", (2,)),), question_span=Span(4, 6),
            memory_answer="x", candidates=(), predicted_text=" b", predicted_probability=0.5, group="C",
        )  # fmt: skip
        assert prompt_data(instance, [row], "sentence")["tokens"] == expected
