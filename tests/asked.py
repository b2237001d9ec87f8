"""Prompts as tests ask them; the usual target, the likeliest token against the runner-up; and what a model literally says;
and a request as the page's worker serves it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from heval_core import regimes
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.prompt_service import child
from heval_core.prompting.prompts import assemble
from heval_core.records import Dropped, Target, TokenisedPrompt
from heval_core.records.whole_answers import applied, read

KENYA, PERU = "The capital of Kenya is Lisbon.", "The capital of Peru is Lima."
QUESTION = "Which capital is it?"


def asked(lm: LanguageModel, *documents: str, question: str = QUESTION) -> TokenisedPrompt:
    return lm.tokenise(assemble(documents, (None,) * len(documents), question))


def clean_of(lm: LanguageModel, *documents: str, question: str = QUESTION) -> CleanPass:
    return CleanPass(lm, [asked(lm, *documents, question=question)])


def two_of(lm: LanguageModel) -> CleanPass:
    """Two prompts of equal length as one batch."""
    prompt = asked(lm, KENYA, PERU)
    return CleanPass(lm, [prompt, replace(prompt, ids=prompt.ids[:2] + prompt.ids[:1:-1])])


def runner_up(clean: CleanPass, row: int = 0) -> Target:
    return Target.next_token(*clean.logits[row].topk(2).indices.tolist(), "runner-up token")


def runner_ups(clean: CleanPass) -> list[Target]:
    """Of each prompt of the pass."""
    return [runner_up(clean, row) for row in range(clean.size)]


def greedily(lm: LanguageModel, ids: Sequence[int], tokens: int) -> tuple[int, ...]:
    """What the model says after a prompt: one token after the other, each by a whole pass, without a cache and padding."""
    out: list[int] = []
    while len(out) < tokens and not (out and out[-1] in lm.generation.end_ids):
        out.append(int(lm.forward.logits(lm.ids((*ids, *out)))[0].argmax()))
    return tuple(out)


def built(facts, pool, regime, style, limit, seed):
    """Fact ▶ its instance, or why there is none, of the first facts that a style admits."""
    found = {}
    for place, fact in enumerate(select(facts, limit, seed, style)):
        try:
            found[fact] = regimes.build(fact, regime, pool, seed, style, place)
        except Dropped as dropped:
            found[fact] = dropped.reason
    return found


def select(facts, limit, seed, style):
    """The first facts that a prompt style admits, in the seed's fixed order, as a run asks them."""
    return regimes.first((fact for fact in facts if regimes.may_be_asked(style, fact)), limit, seed)


def served(request: Any, loaded: dict | None = None, heard: list | None = None, messages: list | None = None) -> Any:
    """The result, an answer as a record. heard: gets each step that is done, and the answer as it is known then. messages: get
    the lines that are sent."""
    request = json.loads(json.dumps(request, default=asdict))
    heard, messages = ([] if given is None else given for given in (heard, messages))
    known = request.get("before")
    child.serve(request, {} if loaded is None else loaded, lambda said: messages.append(json.dumps(said, default=asdict)))
    for message in map(json.loads, messages):
        if "new" in message:
            known = applied(known, message["new"])
        heard += [message["progress"]] if "progress" in message else [read(known)] if "new" in message else []
    return message["result"] if request["op"] != "answer" else read(known)
