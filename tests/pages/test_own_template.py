"""A prompt of one's own through a model's chat template: where there is the choice, what is sent, and what is shown."""

from __future__ import annotations

import json
import shutil

import pytest
from streamlit.testing.v1 import AppTest

from heval_core.installed import has_chat_template, installed_models
from heval_core.prompt_service import child
from heval_core.prompts import AUTO, CHAT, TEMPLATE
from heval_core.records import HEvalError
from heval_core.ui import own_prompts, sidebar
from heval_core.ui.own_prompts import Kept
from heval_core.ui.reading import prompt_data
from tests.conftest import DEMO_MODELS

JINJA = "{% for m in messages %}User: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
SIDEBAR = "from heval_core.ui import sidebar\nsidebar.draw(on_own_page={})"
ASKED = own_prompts.Asked(
    model="chatty", documents=["The capital of Kenya is Oslo."], context_answers=["Oslo"],
    question="What is the capital of Kenya?", memory_answer=None, explainers=["attn"], match="first", target="answer",
    template=CHAT,
)  # fmt: skip


@pytest.fixture
def chatty(tmp_path, monkeypatch):
    """An installed model with a chat template, beside the demo's, which have none."""
    folder = shutil.copytree(DEMO_MODELS / "demo-qwen2", tmp_path / "chatty")
    (folder / "chat_template.jinja").write_text(JINJA)
    monkeypatch.setenv("HEVAL_MODELS", str(folder))
    return folder


@pytest.fixture
def sent(monkeypatch):
    requests: list[dict] = []
    monkeypatch.setattr("heval_core.ui.sidebar.begin", lambda request: requests.append(request))
    return requests


def form(on_own_page=False, **query):
    app = AppTest.from_string(SIDEBAR.format(on_own_page), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def said(app):
    return " ".join(caption.value for caption in app.sidebar.caption)


def choices(app):
    return [radio for radio in app.sidebar.radio if radio.key == "own_template"]


def test_a_chat_may_be_chosen_for_a_model_with_a_template_only(demo, chatty, sent):
    app = form()
    assert choices(app)[0].options == ["its own layout", "plain prompt"]
    app.sidebar.selectbox(key="own_model").set_value("chatty").run()
    (choice,) = choices(app)
    assert choice.options == ["its own layout", "plain prompt", "chat template"]
    app.sidebar.button(key="own_send").click().run()
    choices(app)[0].set_value(CHAT).run()
    assert "are the user's turn" in said(app)
    assert "** and the chat template's, of the 512 that chatty reads" in said(app)
    app.sidebar.button(key="own_send").click().run()
    # With a model that has none the choice is gone, whatever was chosen before.
    app.sidebar.selectbox(key="own_model").set_value("demo-gpt2").run()
    app.sidebar.button(key="own_send").click().run()
    assert [request["template"] for request in sent] == [TEMPLATE, CHAT, TEMPLATE]
    assert not app.exception


def test_a_links_template_is_what_the_form_holds(demo, chatty, sent):
    app = form(True, asked=own_prompts.packed(ASKED))
    assert choices(app)[0].value == CHAT
    app.sidebar.button(key="own_send").click().run()
    assert sent[0]["template"] == CHAT
    assert own_prompts.id_of(ASKED) != own_prompts.id_of({**ASKED, "template": "plain"})


@pytest.mark.parametrize(("settings", "offered"), [("", False), ("{", False), ("[]", False), ('{"chat_template": "x"}', True)])
def test_a_template_is_found_in_the_tokenizers_files(tmp_path, settings, offered):
    (tmp_path / "tokenizer_config.json").write_text(settings)
    assert has_chat_template(tmp_path) == offered


@pytest.mark.parametrize(
    ("settings", "template"),
    [({"template": CHAT}, CHAT), ({"template": "{documents} {question}"}, "{documents} {question}"),
     ({"prompt_style": "taught_sources"}, TEMPLATE), ({}, AUTO)],
)  # fmt: skip
def test_its_own_layout_is_what_its_folder_says_and_examples_by_default(tmp_path, settings, template):
    (tmp_path / "heval.json").write_text(json.dumps(settings))
    assert sidebar.template_of({**ASKED, "template": AUTO}, tmp_path) == template
    assert sidebar.template_of({**ASKED, "template": "plain"}, tmp_path) == "plain"


@pytest.mark.slow
def test_the_worker_asks_through_the_template_and_ranks_none_of_it(chatty):
    loaded: dict = {}

    def answered(model, template):
        request = {**ASKED, "op": "explain", "model": str(model), "template": template}
        return child._answer(request, loaded, lambda text: None)

    result = answered(chatty, CHAT)
    assert result["prompt"] == "User: The capital of Kenya is Oslo.\n\nWhat is the capital of Kenya?\nAssistant:"
    ranked = "".join(result["tokens"][result["first_ranked"] : result["ranked_end"]])
    assert ranked.strip() == "The capital of Kenya is Oslo.\n\nWhat is the capital of Kenya?"
    kept = Kept(ASKED, result)
    instance = own_prompts.instance_of(kept)
    assert instance.in_chat
    drawn = prompt_data(instance, own_prompts.rows_of(result))
    assert (drawn["first_ranked"], drawn["ranked_end"]) == (result["first_ranked"], result["ranked_end"])
    assert own_prompts.options_line(kept).startswith("Asked through the chat template. Explained: the model's answer (")
    assert own_prompts.label_of(kept).startswith("chatty, chat template: ")
    # The next request is a plain one again, by the same loaded model.
    plain = answered(chatty, TEMPLATE)
    assert plain["prompt"] == "The capital of Kenya is Oslo. Q: What is the capital of Kenya? A:"
    assert plain["ranked_end"] == len(plain["tokens"])
    with pytest.raises(HEvalError, match=r"^demo-gpt2 has no chat template, so it cannot be asked through one"):
        answered(installed_models()["demo-gpt2"], CHAT)
