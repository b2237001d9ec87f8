"""What `explain` takes: texts, documents of other libraries, and one sentence for everything else."""

from __future__ import annotations

import json
from types import SimpleNamespace as Other

import pytest

from heval_core import explain, explain_answer
from heval_core.explaining.arguments import check_options, request_of
from heval_core.figures.answer import answer_drawing
from heval_core.records import HEvalError
from heval_core.records.whole_answers import read
from precompute.cli import main
from tests.asked import served

QUESTION, TEXTS = "What is the capital of Kenya?", ["The capital of Kenya is Lisbon.", "The capital of Peru is Lima."]
NAN = float("nan")
WRONG = [
    ({"context": {"It is."}}, "context is a set; it must be a text"),
   
    ({"context": {"a": "It is so."}}, r"context is a dict \(give the text in it\); it must"),
    ({"context": None}, "context is None; it must be a text, a document, or a list of them"),
    ({"context": b"It is."}, r"context is bytes \(decode them: b.decode\(\)\)"), ({"context": 5}, "context is 5; it must"),
    ({"context": ["It is.", NAN]}, r"context\[1\] is NaN, as an empty cell of a table is; it must be a text"),
    ({"context": [None]}, r"context\[0\] is None; it must be a text"),
    ({"context": [["It is."]]}, r"context\[0\] is a list; it must be a text"),
    ({"context": [{"text": "a"}]}, r"context\[0\] is a dict"), ({"question": None}, "question is None; it must be a text"),
    ({"question": NAN}, "question is NaN"),
    ({"question": Other(text="Which?")}, "question is a SimpleNamespace; it must be a text"),
    ({"question": b"?"}, "question is bytes"), ({"context_answer": 7}, "context_answer is 7"),
    ({"context": "It is.", "context_answer": [b"It"]}, r"context_answer\[0\] is bytes"),
    ({"memory_answer": 3.5}, "memory_answer is 3.5; it"), ({"memory_answer": " "}, "memory_answer is empty; write one"),
    ({"answer": ""}, "answer is empty; write one, or leave it out"), ({"answer": {}}, "answer is a dict"),
    ({"context": ["\ud83d"]}, "half a character"), ({"explainers": 5}, "explainers is 5; it must be keys"),
    ({"explainers": [None]}, r"explainers\[0\] is None"), ({"explainers": {"fa": 1}}, "explainers is a dict"),
    ({"match": "foo"}, "There is no match 'foo'; there are: first, text, within"), ({"match": "txt"}, "did you mean text?"),
    ({"target": "contxt"}, "There is no target 'contxt'; did you mean context?"),
    ({"target": None}, "There is no target None"),
    ({"dtype": "float23"}, "There is no dtype 'float23'; did you mean float32?"),
    ({"template": "chta"}, "no template 'chta'; did you mean chat"),
    ({"template": 5}, "template is 5; it"),
    ({"generate": 0}, "generate is 0; it must be a whole number, at least 1: the most tokens"),
    ({"generate": 2.5}, "generate is 2.5; it must be a whole number"), ({"generate": True}, "generate is True"),
    ({"explainers": ["mechlite"]}, "did you mean mechlight"),
    ({"answer": "Lisbon", "generate": 5}, "answer and generate are both given: .* leave one of them out"),
    ({"tokenizer": len}, "tokenizer is of a model in memory; this model has its own"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_anything_else_is_one_sentence_before_a_model_is_loaded(given, said):
    function = explain_answer if {"answer", "generate"} & given.keys() else explain
    with pytest.raises(HEvalError, match=said) as error:
        function("no such model", **{"question": QUESTION, "context": TEXTS, **given})
    assert "\n" not in str(error.value)


def test_the_command_line_and_the_page_say_the_same(language_models, capsys):
    for option, value, said in (("--generate", "0", "generate is 0; it must"), ("--template", "chta", "did you mean chat?")):
        assert main(["explain", "--model", "no such model", "--question", QUESTION, option, value]) != 0
        assert said in capsys.readouterr().err
    lm = language_models["gpt2"]
    asked = {"op": "answer", "model": lm.key, "question": QUESTION, "documents": [TEXTS[0], None], "template": "plain"}
    with pytest.raises(HEvalError, match=r"context\[1\] is None; it must be a text"):
        served(asked | {"explainers": [], "generate": 1, "answer": None}, {(lm.key, "float32"): lm})


class Hit:
    """A search result: what it found is inside."""

    def __init__(self, node):
        self.node, self.score, self.text = node, 0.5, node.text


CHAIN = [
    Other(page_content=TEXTS[0], metadata={"source": "kenya.txt", "title": "Kenya"}, id="7"),
    Other(page_content=TEXTS[1], metadata={}, id=None),
]
INDEX = [
    Hit(Other(text=TEXTS[0], metadata={"file_name": "kenya.txt"}, node_id="n1")),
    Other(text=TEXTS[1], metadata={}, id_="n2"),
]
NAMED = [
    (CHAIN, ("kenya.txt", "")), (INDEX, ("kenya.txt", "n2")), (CHAIN[0], ("kenya.txt",)),
    ([TEXTS[0], CHAIN[0]], ("", "kenya.txt")),
    ((text for text in TEXTS), ("", "")), (TEXTS[0], ("",)), ((), ()),
]  # fmt: skip


@pytest.mark.parametrize(("context", "names"), NAMED)
def test_documents_of_other_libraries_are_read_with_their_names(context, names):
    found = request_of(QUESTION, context)
    assert found.names == names
    assert found.documents == (
        (TEXTS[0],) * 2 if names[:1] == ("",) and names[1:] == ("kenya.txt",) else tuple(TEXTS[: len(names)])
    )
    check_options()


def test_a_documents_name_is_shown_wherever_it_is_named(language_models):
    hostile = Other(page_content=TEXTS[1], metadata={"source": "<b>peru"})
    asked = {"question": QUESTION, "context": [CHAIN[0], TEXTS[0] + " So.", hostile], "explainers": "attn"}
    found = explain(language_models["gpt2"], **asked)
    assert [part for part in dict.fromkeys(found.to_frame()["part"]) if "document" in part] == [
        "document 1: kenya.txt", "document 2", "document 3: <b>peru",
    ]  # fmt: skip
    page = found._repr_html_()
    assert "document 1 (kenya.txt), answer unknown" in page
    assert "<b>peru" not in page
    assert [document.get("name") for document in found.to_json()["documents"]] == ["kenya.txt", None, "<b>peru"]
    whole = explain_answer(language_models["gpt2"], **asked, generate=4)
    told = whole.to_json()
    assert [document.get("name") for document in told["documents"]] == ["kenya.txt", None, "<b>peru"]
    shown = answer_drawing(read(json.loads(json.dumps(told))))
    assert [document.name for document in shown.documents] == ["kenya.txt", None, "<b>peru"]
    assert "kenya.txt" in whole._repr_html_()
    for frame, column in ((whole.sources(), "source"), (whole.citations(), "document")):
        names = {"document 1": "kenya.txt", "document 3": "<b>peru", 1: "kenya.txt", 3: "<b>peru"}
        assert list(frame["name"]) == [names.get(value, "") for value in frame[column]]
    unnamed = explain_answer(language_models["gpt2"], question=QUESTION, context=TEXTS, generate=4, explainers=[])
    assert "name" not in unnamed.sources()
