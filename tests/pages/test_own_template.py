"""A prompt of one's own through a model's chat template: where there is the choice, what is sent, and what is shown."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from itertools import pairwise

import pytest

from heval_core.lm.installed import has_chat_template, installed_models
from heval_core.prompting.prompts import AUTO, CHAT, TEMPLATE
from heval_core.records import HEvalError
from heval_core.ui import own_prompts, sidebar
from tests.asked import served
from tests.conftest import DEMO_MODELS
from tests.pages.opening import open_form, send

JINJA = "{% for m in messages %}User: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
ASKED = own_prompts.OwnPrompt(
    "chatty", ("The capital of Kenya is Oslo.",), "What is the capital of Kenya?", ("attn",), CHAT, generate=4
)


@pytest.fixture
def chatty(tmp_path, monkeypatch):
    """An installed model with a chat template, beside the demo's, which have none."""
    folder = shutil.copytree(DEMO_MODELS / "demo-qwen2", tmp_path / "chatty")
    (folder / "chat_template.jinja").write_text(JINJA)
    monkeypatch.setenv("HEVAL_MODELS", str(folder))
    return folder


def choices(app):
    return [radio for radio in app.sidebar.radio if radio.key == "own_template"]


def test_a_chat_may_be_chosen_for_a_model_with_a_template_only(demo, chatty, sent):
    app = open_form()
    app.sidebar.button(key="own_example").click().run()
    app.sidebar.selectbox(key="own_model").set_value("demo-gpt2").run()
    assert choices(app)[0].options == ["its own", "plain"]
    send(app)
    app.sidebar.selectbox(key="own_model").set_value("chatty").run()
    (choice,) = choices(app)
    assert choice.options == ["chat", "its own", "plain"]
    assert choice.value == CHAT  # where there is one it is used
    send(app)
    # With a model that has none the choice is gone, whatever was chosen before.
    app.sidebar.selectbox(key="own_model").set_value("demo-gpt2").run()
    send(app)
    assert [request["template"] for request in sent] == [TEMPLATE, CHAT, TEMPLATE]


def test_a_links_template_is_what_the_form_holds(demo, chatty, sent):
    app = open_form(True, asked=own_prompts.packed(ASKED))
    assert choices(app)[0].value == CHAT
    send(app)
    assert sent[0]["template"] == CHAT
    assert ASKED.id != replace(ASKED, template="plain").id


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
    assert sidebar.template_of(replace(ASKED, template=AUTO), tmp_path) == template
    assert sidebar.template_of(replace(ASKED, template="plain"), tmp_path) == "plain"


@pytest.mark.slow
def test_the_worker_asks_through_the_template_and_ranks_none_of_it(chatty):
    loaded: dict = {}

    def answered(model, template):
        request = asdict(ASKED) | {"op": "answer", "model": str(model), "template": template}
        return served(request, loaded)

    result = answered(chatty, CHAT)
    assert result.prompt == "User: The capital of Kenya is Oslo.\n\nWhat is the capital of Kenya?\nAssistant:"
    units = result.generated.matrix["attn"].units
    assert "".join(unit.text for unit in units).strip() == "The capital of Kenya is Oslo.\n\nWhat is the capital of Kenya?"
    # The next request is a plain one again, by the same loaded model.
    assert answered(chatty, TEMPLATE).prompt == "The capital of Kenya is Oslo. Q: What is the capital of Kenya? A:"
    with pytest.raises(HEvalError, match=r"^demo-gpt2 has no chat template, so it cannot be asked through one"):
        answered(installed_models()["demo-gpt2"].path, CHAT)


def untimed(answer):
    """An answer without what differs from run to run, and without verdicts."""
    matrix = {key: replace(scores, seconds=0.0, passes=0.0) for key, scores in answer.generated.matrix.items()}
    return replace(answer, generated=replace(answer.generated, matrix=matrix, verdicts={}))


LISBON = {
    "documents": ["According to a world atlas: The capital of Kenya is Lisbon.", "It has two wells."],
    "question": "What is the capital of Kenya?",
}


@pytest.mark.slow
def test_the_worker_goes_on_with_an_answer_and_tells_what_it_knows_as_it_knows_it(chatty):
    loaded: dict = {}
    request = asdict(ASKED) | {"op": "answer", "model": str(chatty), "template": TEMPLATE, "explainers": ["attn"]} | LISBON
    heard: list = []
    sent: list = []
    first = served(request, loaded, heard, sent)
    steps = [text.removesuffix(" done") for text in heard if isinstance(text, str) and text != "token done"]
    order = [one for step in ("document", "attn", "level", "sentence", "before") for one in (f"now {step}", step)]
    assert steps == ["loading the model", *order]
    written = [partial.generated.text for partial in heard if not isinstance(partial, str)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(written))
    assert sum(map(len, sent)) < 1.5 * len(json.dumps(asdict(first)))  # only what is new is sent
    heard.clear()
    more = served(request | {"more": ["attnlrp"], "before": first}, loaded, heard)
    assert heard == ["now attnlrp", "attnlrp done", more]  # nothing else was computed again
    at_once = served(request | {"explainers": ["attn", "attnlrp"]}, loaded)
    (judged, expected) = (result.generated.verdicts["words"][0] for result in (more, at_once))
    assert judged["points"] == expected["points"]
    assert judged["beats"]["nats"] == pytest.approx(expected["beats"]["nats"], rel=1e-3)  # a kept answer has four digits
    assert untimed(more) == untimed(at_once)
    other = replace(first, tokens=("Of", *first.tokens[1:]))
    with pytest.raises(HEvalError, match=r"^chatty cuts this prompt into other tokens than when it was asked"):
        served(request | {"more": ["attnlrp"], "before": other}, loaded)
    # An answer that is only written explains nothing.
    only = served(request | {"documents": [], "only_written": True}, loaded)
    assert (bool(only.generated.text), only.generated.matrix) == (True, {})
    given = request | {"answer": "Nairobi is far away.", "explainers": ["cgim"]}
    before = served(given, loaded)
    part = served(given | {"more": ["cgim"], "part": [0, 1], "before": before}, loaded)
    (one,) = part.generated.matrix["cgim"].parts  # its whole sentence is known, and one token of it is asked about
    assert (one.start, one.end) == (0, 1)
    assert part.generated.matrix["cgim"].values == before.generated.matrix["cgim"].values


@pytest.mark.slow
def test_what_needs_float32_is_computed_in_it_where_the_rest_is_in_bfloat16(chatty):
    request = asdict(ASKED) | {"op": "answer", "model": str(chatty), "template": TEMPLATE} | LISBON
    request |= {"dtype": "bfloat16", "explainers": ["mechlight", "attn"]}
    loaded: dict = {}
    heard: list = []
    coarse = served(request, loaded, heard)
    steps = [text for text in heard if text in ("now attn", "now before", "now mechlight", "loading the model")]
    assert steps == ["loading the model", "now attn", "now before", "loading the model", "now mechlight"]
    assert {"attn", "mechlight"} <= coarse.generated.matrix.keys()
    assert coarse.generated.refused == {}
    assert list(coarse.generated.notes) == ["Computed in bfloat16, which is coarser than float32: small scores may differ."]
    again = served(request | {"more": ["mechlight"], "before": coarse}, loaded)
    assert again.generated.matrix["mechlight"].values == coarse.generated.matrix["mechlight"].values
