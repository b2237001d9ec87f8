"""A whole answer made by hand: two documents, two sentences of two words each, and what is known of them."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace

from heval_core.records.whole_answers import read
from heval_core.ui.own_prompts import OwnPrompt, SavedAnswer

ASKED = OwnPrompt(
    model="demo-gpt2", documents=("Iceland is cold.", "It costs 60."), question="Where?", explainers=("attn", "cgim"),
    template="plain",
)  # fmt: skip
TOKENS = ["Iceland", " is", " cold", ".", " It", " costs", " 60", ".", " Q:", " Where?", " A:"]
SENTENCES = [{"start": 0, "end": 4, "document": 1, "text": "Iceland is cold."}]
SENTENCES += [{"start": 4, "end": 8, "document": 2, "text": " It costs 60."}]


def _part(start, end, text, **more):
    return {"start": start, "end": end, "text": text, **more}


def word(start, text, source, nats):
    by_document = [nats, 0.1] if source == "document 1" else [0.1, nats]
    return _part(start, start + 1, text, source=source, nats=nats, by_document=by_document, said_before=0.5)


def sentence(start, text, document, nats, by_document):
    cited = {"document": document, "nats": nats, "level": 0.4}
    return _part(start, start + 2, text, citations=[cited], by_document=by_document, said_before=0.25)


def matrix(unit, values, columns="token"):
    about = {"seconds": 0.5, "passes": 2.2, "title": unit}
    return {"unit": unit, "units": SENTENCES, "columns": columns, "values": values, **about}


def made_up(question="Where?", prompt=None, **changed) -> SavedAnswer:
    """Of its four words two come from documents, one from memory, one is unclear. cgim scores whole sentences.

    prompt, changed: what is otherwise of the prompt, and of the answer.
    """
    generated = {
        "text": " Iceland. 60 maybe",
        "token_ids": [1, 2, 3, 4],
        "tokens": [" Iceland", ".", " 60", " maybe"],
        "probabilities": [0.5, 0.5, 0.25, 1e-13],
        "stopped": "4 tokens were written",
        "given": False,
        "notes": ["'maybe' has a probability of 1e-13: the model would never write it."],
        "words": [
            word(0, " Iceland", "document 1", 3.0),
            word(1, ".", "memory", 0.1),
            word(2, " 60", "document 2", 6.0),
            word(3, " maybe", "unclear", 0.2),
        ],
        "sentences": [sentence(0, " Iceland.", 1, 3.0, [3.0, 0.2]), sentence(2, " 60 maybe", 2, 6.0, [0.2, 6.2])],
        "matrix": {
            "document": matrix("document", [[2.9, 0.1, 0.1, 0.1], [0.1, 0.1, 5.9, 0.3]]),
            "document(unit=sentence)": matrix("sentence", [[2.5, 0.1, 0.1, 0.1], [0.1, 0.1, 5.5, 0.3]]),
            "attn": matrix("sentence", [[0.2, 0.1, 0.4, 0.1], [0.1, 0.1, 0.3, 0.3]]),
            "cgim": matrix("sentence", [[1.0, 0.5], [0.25, 2.0]], "sentence"),
        },
        "refused": {"mechlight": "the model has no heads"},
        "verdicts": {},
    }
    documents = [{"start": 0, "end": 4}, {"start": 4, "end": 8}]
    result = {"model": "made-up", "prompt": "".join(TOKENS), "tokens": TOKENS, "documents": documents}
    content = result | (prompt or {}) | {"generated": generated | changed}
    return SavedAnswer(replace(ASKED, question=question), read(content))


def over(**more) -> SimpleNamespace:
    """The ticket of a request that is over."""
    nothing = {"error": "", "cancelled": False, "progress": [], "request": {}, "over": threading.Event()}
    nothing["over"].set()
    return SimpleNamespace(**dict.fromkeys(("result", "partial")) | nothing | more)
