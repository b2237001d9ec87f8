"""The results of the reader's own prompts, as the records that the reading surface draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from heval_core import catalogue
from heval_core.figures.palette import in_order
from heval_core.prompts import CHAT
from heval_core.records import TECHNIQUE, Candidate, Span
from heval_core.stored import PromptDocument, StoredInstance
from heval_core.ui.heads import AS_INSTALLED, HeadMap
from heval_core.ui.names import first_sentence
from heval_core.ui.own_form import MATCH_TITLES, TARGET_TITLES
from heval_core.ui.own_prompts import Kept, id_of
from heval_core.ui.reading import Row
from heval_core.ui.text import plain


def label_of(kept: Kept) -> str:
    """`demo-gpt2: Oslo · What is the capital of Kenya?`, or `demo-instruct, chat template: Oslo · …`"""
    result, chat = kept.result, ", chat template" if kept.asked["template"] == CHAT else ""
    return f"{result['model']}{chat}: {result['answer']['text'].strip()} · {kept.asked['question']}"


def rows_of(result: dict[str, Any]) -> list[Row]:
    plugins = catalogue.variants(result["explainers"])
    return [
        Row(
            key,
            plugins[key].title,
            plugins[key].signed,
            scored["scores"],
            first_sentence(catalogue.docstring(plugins[key])),
            note=scored.get("head", ""),
        )
        for key, scored in ((key, result["explainers"][key]) for key in in_order(list(result["explainers"])))
    ]


def instance_of(kept: Kept) -> StoredInstance:
    """The result as a stored instance, which the shared views read."""
    result = kept.result
    answer, question = result["answer"], result["question"]
    return StoredInstance(
        instance_id=id_of(kept.asked),
        model=result["model"],
        revision=AS_INSTALLED,
        dataset="own prompt",
        regime="own prompt",
        technique=TECHNIQUE,
        subject=result["prompt"][:60],
        tokens=tuple(result["tokens"]),
        first_ranked=result["first_ranked"],
        ranked_end=result.get("ranked_end"),
        documents=tuple(
            PromptDocument(d["start"], d["end"], d["answer"] or "unknown", tuple(d["answer_tokens"]))
            for d in result["documents"]
        ),
        question_span=Span(question["start"], question["end"]),
        memory_answer=answer["memory_answer"],
        candidates=tuple(Candidate(**candidate) for candidate in answer["candidates"]),
        predicted_text=answer["text"],
        predicted_probability=answer["probability"],
        predicted_id=answer["token_id"],
        group=answer["group"],
        answer_text=answer["answer_text"],
        prompt=result["prompt"],
        question=kept.asked["question"],
    )


def heads_of(result: dict[str, Any]) -> HeadMap | None:
    """MechLight's heads; None if it was not asked for."""
    chosen = result["explainers"].get("mechlight")
    if not chosen or "head_scores" not in chosen:
        return None
    foil = str(chosen.get("foil", ""))
    return HeadMap(np.asarray(chosen["head_scores"], dtype=np.float64), chosen["head"], str(chosen.get("runner_up", "")), foil)


def options_line(kept: Kept) -> str:
    """How the model was asked, what was explained, and what decided where the answer came from."""
    result, asked = kept.result, "Asked through the chat template. " if kept.asked["template"] == CHAT else ""
    # The whole text is only there if it decided.
    match = "first" if result["answer"]["answer_text"] is None else "text"
    target = f"{TARGET_TITLES[result['target']]} ({plain(result['target_text'].strip())})"
    return f"{asked}Explained: {target}. The group was decided by {MATCH_TITLES[match]}."


def left_out(result: dict[str, Any]) -> list[str]:
    """A sentence for each explainer that could not explain the prompt, with its reason."""
    refused = result["refused"]
    plugins = catalogue.variants(refused)
    return [f"{plain(plugins[key].title)} is left out: {plain(why)}" for key, why in refused.items()]


def same_answer(kept: Kept) -> str:
    """A sentence if the model gave an answer that documents agree on, which cannot tell which of them was used; else empty."""
    answers = [(answer or "").strip() for answer in kept.asked["context_answers"]]
    twice = next((answer for answer in answers if answer and answers.count(answer) > 1), None)
    if twice is None or kept.result["answer"]["group"] != "ambiguous":
        return ""
    which = " and ".join(str(number) for number, answer in enumerate(answers, start=1) if answer == twice)
    return (
        f"Documents {which} agree on {plain(twice)}, so the answer alone cannot tell which of them was used: no token is "
        "marked as its source. The highlights show where each explainer points."
    )
