"""`explain` in a notebook: the README's lines, the command line's scores, and nothing of a prompt that is markup."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from heval_core import explain
from heval_core.lm import loading, needs
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from precompute.cli import main
from tests.conftest import ROOT

PROMPT = {
    "question": "What is the capital of Kenya?",
    "context": "The capital of Kenya is Lisbon.",
    "context_answer": "Lisbon",
}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;"


@pytest.fixture(scope="module")
def explained(language_models):
    return explain(language_models["gpt2"], **PROMPT)


def same_scores(result, told):
    assert result.to_json()["tokens"] == told["tokens"]
    frame = result.to_frame(raw=True)
    assert set(told["explainers"]) == set(result.attributions)
    for key, scores in told["explainers"].items():
        np.testing.assert_allclose(frame[key], scores["normalised"], rtol=1e-6)
        np.testing.assert_allclose(frame[f"{key}, raw"], scores["scores"], rtol=1e-6)


def test_the_readmes_lines_give_the_command_lines_scores(monkeypatch, prints):
    monkeypatch.chdir(ROOT)
    code, answer, _ = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(code.splitlines()) <= 5
    names: dict = {}
    exec(code, names)
    exec(answer, names)
    assert list(names["answer"].sources()["source"]) == ["document 1"]
    asked = ["--context", names["context"], "--question", "What is the capital of Kenya?", "--format", "json"]
    same_scores(names["result"], json.loads(prints("explain", "--model", "cache/demo/models/demo-qwen2", *asked).out))


def test_a_model_in_memory_is_asked_as_the_one_in_its_folder(model_folders, explained):
    folder = model_folders["gpt2"]
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).train(), AutoTokenizer.from_pretrained(folder)
    found = explain(model, tokenizer=tokenizer, **PROMPT)
    same_scores(found, explained.to_json())
    assert found.explained.model == explained.explained.model == "random-gpt2"
    same_scores(explain(folder, **PROMPT, device="cpu"), explained.to_json())
    with pytest.raises(HEvalError, match="model is None; it must be a name, a folder, or a model in memory"):
        explain(None, question="Is it?")
    with pytest.raises(HEvalError, match="needs its tokenizer"):
        explain(model, **PROMPT)
    lm = loading.load(str(folder), "cpu")
    for other, ignored in ((model, {"device": "cpu"}), (model, {"dtype": "float32"}), (lm, {"device": "cpu"})):
        with pytest.raises(HEvalError, match=f"{[*ignored][0]} is .*, but the model is loaded already; .* leave"):
            explain(other, **PROMPT, **ignored)
    with pytest.raises(HEvalError, match="this model has its own, leave it out"):
        explain(lm, tokenizer=tokenizer, **PROMPT)


def test_the_frame_has_a_row_per_token_with_its_part_of_the_prompt(explained):
    frame = explained.to_frame()
    assert list(frame.columns) == ["index", "token", "part", *catalogue.default_methods()]
    assert "".join(frame["token"]) == explained.explained.prompt.text
    assert "".join(frame["token"][frame["part"] == "document 1"]).strip() == PROMPT["context"]
    assert "".join(frame["token"][frame["part"] == "question"]).strip() == PROMPT["question"]
    assert frame["part"].iloc[-1] == "template"
    assert frame["fa"].abs().sum() == pytest.approx(1)


def test_a_row_per_word_sentence_or_document_sums_its_tokens_scores(explained):
    tokens = explained.to_frame(raw=True)
    for level in ("word", "sentence", "document"):
        frame = explained.to_frame(raw=True, level=level)
        assert list(frame.columns) == ["index", level, *tokens.columns[2:]]
        assert "".join(frame[level]) == explained.explained.prompt.text
        for key in ("fa", "fa, raw", "mechlight"):
            sums = tokens.groupby("part", sort=False)[key].sum()
            np.testing.assert_allclose(frame.groupby("part", sort=False)[key].sum(), sums, rtol=1e-5)
    assert list(frame["part"]) == ["document 1", "template", "question", "template"]


def test_among_three_documents_the_one_used_is_named(language_models):
    lm = language_models["gpt2"]
    context = [f"{city} is the capital." for city in ("Lisbon", "Oslo", "Lima")]
    asked = {"question": "What is the capital?", "context": context, "explainers": "fa,mechlight"}
    first = explain(lm, **asked)
    assert set(first.to_frame()["part"]) >= {"document 1", "document 2", "document 3"}
    said = first.behaviour.text.strip()
    named = explain(lm, **asked | {"context": [*context[:2], f"{said} is the capital."]}, context_answer=[None, None, said])
    assert [candidate.group for candidate in named.behaviour.candidates][0] == "C3"


def test_two_documents_or_none_are_explained_and_drawn(language_models):
    two = explain(language_models["gpt2"], question="Where?", context=["A first one.", "A second one."], explainers="attn")
    assert {"document 1", "document 2"} <= set(two.to_frame()["part"])
    assert "document 2, answer unknown" in two._repr_html_()
    none = explain(language_models["gpt2"], question="Where?", explainers="attn")
    assert none.explained.prompt.documents == ()
    assert 'class="grid"' in none._repr_html_()


def test_markup_in_a_document_is_text(language_models):
    page = explain(
        language_models["gpt2"], question=f"{HOSTILE}?", context=HOSTILE, explainers="attn", memory_answer="<b>Nairobi"
    )._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>Nairobi" not in page
    assert "&lt;b&gt;Nairobi" in page
    text = re.sub(r'<span class="c [^>]*></span>', "", page)
    shown = "".join(re.findall(r'<span class="w(?: g)?">(.*?)</span>', text)[1:])
    assert shown.count("&lt;script&gt;alert(1)&lt;/script&gt;&lt;img") == 2
    assert shown.count("&amp;amp;") == 2


def test_what_cannot_be_explained_is_one_sentence(language_models):
    for key, message in (("random", "random is a control"), ("mechlite", "did you mean mechlight")):
        with pytest.raises(HEvalError, match=message):
            explain(language_models["gpt2"], explainers=key, **PROMPT)
    with pytest.raises(HEvalError, match="no level 'page'; there are: token, word, sentence, document"):
        explain(language_models["gpt2"], explainers="attn", **PROMPT).to_frame(level="page")


def test_an_explainer_that_is_refused_leaves_the_others_their_scores(language_models, model_folders, monkeypatch, capsys):
    monkeypatch.setitem(needs.NEEDS, "heads", lambda lm: "has <b>no heads</b>")
    reason = "random-gpt2 (gpt2) has <b>no heads</b>. What needs heads cannot be used with it; all else can."
    found = explain(language_models["gpt2"], **PROMPT | {"explainers": "mechlight,fa,ig"})
    assert list(found.attributions) == ["fa", "ig"]
    assert found.refused == {"mechlight": reason.replace("random-gpt2", language_models["gpt2"].key)}
    assert "refused: mechlight" in repr(found)
    assert "<b>mechlight</b> is left out" in found._repr_html_()
    assert "<b>no heads" not in found._repr_html_()
    result = found.to_json()
    assert result["refused"] == found.refused
    command = ["explain", "--model", str(model_folders["gpt2"]), "--context", PROMPT["context"], "--question", "Which?"]
    assert main([*command, "--memory-answer", "Oslo", "--device", "cpu", "--explainers", "mechlight,fa"]) == 0
    assert f"mechlight is left out: {reason}" in capsys.readouterr().out
    with pytest.raises(HEvalError, match="has <b>no heads</b>"):
        explain(language_models["gpt2"], **PROMPT | {"explainers": "mechlight"})
