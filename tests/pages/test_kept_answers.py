"""Answers that are kept: their files, which may be anybody's, their list, their link, and two side by side."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import math
import operator
import os
import zlib
from dataclasses import asdict, replace
from typing import Any

import pytest
import streamlit as st

from heval_core.records import HEvalError
from heval_core.ui import own_answer, own_prompts
from tests.pages.opening import finished, open_form, open_page, text_of
from tests.pages.whole_answers import ASKED, made_up, over

pytestmark = pytest.mark.usefixtures("gallery")


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
    assert [card.title for card in own] == ["Kept?"]
    open_page("your_prompt")
    open_form()


def test_an_answer_that_is_stopped_takes_nothing_from_the_one_that_is_kept():
    kept = made_up()
    fewer = {key: kept.result.generated.matrix[key] for key in ("document", "attn")}
    name = own_prompts.keep(kept.prompt, kept.result)
    app = finished(over(partial=made_up(matrix=fewer).result, cancelled=True), kept.prompt)
    assert own_prompts.find(name).result == kept.result
    assert [info.value for info in app.info] == ["Stopped\\: what was known by then is kept\\."]
    own_prompts.keep(kept.prompt, made_up(matrix={}, tokens=[" Ice"], token_ids=[1], stopped="").result)  # half of one
    assert own_prompts.find(name).result == kept.result
    others = {"cdla": kept.result.generated.matrix["attn"], "mechlight": kept.result.generated.matrix["attn"]}
    own_prompts.keep(replace(kept.prompt, explainers=("cdla",)), made_up(matrix=others).result)
    both = own_prompts.find(name)
    assert set(both.result.generated.matrix) == {*kept.result.generated.matrix, *others}
    assert both.prompt.explainers == ("cdla", "attn", "cgim")
    assert both.result.generated.refused == {}  # what has scores is not refused
    (own_prompts.gallery() / f"{name}.json.gz").write_bytes(b"{")
    assert own_prompts.find(own_prompts.keep(kept.prompt, made_up(matrix=fewer).result)).result == made_up(matrix=fewer).result


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
    assert [line.asked for line in own_prompts.answer_lines()[:2]] == ["c", "b"]  # the newest first


def test_a_kept_answer_is_removed_and_comes_back_and_two_stand_side_by_side(monkeypatch):
    one, other = (own_prompts.keep(*made_up(question)[:2]) for question in ("Where?", "When?"))
    heard: dict[str, Any] = {}

    def component(name, key, data, **how):
        heard[key] = data
        for what in ("remove", "put back", "beside") if name == "kept" else ():
            message = json.dumps({"what": what, "id": other})
            st.button(what, key=f"kept_{what}", on_click=how["asked"], args=(message,))

    monkeypatch.setattr("heval_core.ui.own_menus.component", component)
    monkeypatch.setattr(own_answer, "component", component)
    app = open_page("your_prompt", result=one)
    lines = heard["own_kept"]["lines"]
    assert {(line["asked"], line["said"], line["model"]) for line in lines[:2]} == {
        ("Where?", "Iceland. 60 maybe", "demo-gpt2"), ("When?", "Iceland. 60 maybe", "demo-gpt2")}  # fmt: skip
    assert all(line["day"] for line in lines[:2])
    app.button(key="kept_remove").click().run()
    assert (own_prompts.find(other), heard["own_kept"]["removed"]["asked"]) == (None, "When?")
    app.button(key="kept_put back").click().run()
    assert own_prompts.find(other) is not None
    app.button(key="kept_beside").click().run()
    assert app.query_params["beside"] == other
    assert heard["answer_left"]["words"] == heard["answer_right"]["words"]
    assert "4 words in both, 0 of them with another source; 0 at the left alone, 0 at the right alone." in text_of(app)


def test_only_what_is_there_is_removed_and_nothing_outside_of_the_folder(gallery):
    name = own_prompts.keep(*made_up()[:2])
    for wrong in ("../examples/1-copied", "1-copied", "0123456789ab"):
        own_prompts.remove(wrong)
        own_prompts.put_back(wrong)
    assert own_prompts.find("1-copied") is not None
    own_prompts.remove(name)
    own_prompts.remove(name)  # a double click takes nothing from Undo
    newer = made_up(notes=["computed again"])
    own_prompts.keep(newer.prompt, newer.result)
    own_prompts.put_back(name)
    assert own_prompts.find(name).result.generated.notes == ("computed again",)
    own_prompts.remove(name)
    own_prompts.put_back(name)
    assert own_prompts.find(name) is not None


def test_of_two_halves_the_one_with_citations_is_kept(gallery):
    kept = made_up(matrix={})
    own_prompts.keep(kept.prompt, kept.result)
    bare = [asdict(one) | {"citations": None} for one in kept.result.generated.sentences]
    own_prompts.keep(kept.prompt, made_up(sentences=bare).result)  # stopped before its level, with more explainers
    both = own_prompts.find(kept.prompt.id).result.generated
    assert both.sentences[0].citations
    assert "attn" in both.matrix
