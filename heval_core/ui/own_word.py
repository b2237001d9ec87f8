"""*Answer in a word* on its page: the first word of an answer, read as an instance of a data set is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from heval_core.figures.palette import in_order
from heval_core.plugins import catalogue
from heval_core.present.html import plain
from heval_core.present.names import first_sentence, model_title
from heval_core.prompting.prompts import assemble
from heval_core.records.vocabulary import answer_from
from heval_core.records.word_answers import WordAnswer
from heval_core.ui import address, heads, reading
from heval_core.ui.reading import ReadingRow


def draw(name: str, answer: WordAnswer) -> None:
    """Draw the reading surface of *Instances*: tokens, ranks, where the answer could come from, heads. name: its id."""
    instance, mechlight, mapped = replace(answer.instance, instance_id=name), answer.attributions.get("mechlight"), None
    rows = rows_of(answer)
    if mechlight is not None and mechlight.head_name:
        runner_up, foil = (str(mechlight.details.get(name, "")) for name in ("runner_up", "foil"))
        mapped = heads.HeadMap(mechlight.strengths(answer.layers), mechlight.head_name, runner_up, foil)
    view = reading.view_of(rows, mapped.names if mapped else [], len(instance.tokens))
    all_rows, data = heads.with_map(None, instance, mapped, rows, view["pick"])
    reading.draw(instance, all_rows, view, data, _on_request, {}, by_itself=answer.by_itself)
    foil = re.sub(r"\(candidate (\w+)\)", lambda kind: f"({answer_from(kind[1])})", answer.foil)
    of = next((one.group for one in instance.candidates if one.text.startswith(answer.target_text.strip())), instance.group)
    explained = f"explained: {answer.target_text.strip()} ({answer_from(of)}) against {foil}"
    st.caption(plain(f"{model_title(instance.model)} · {explained}"))
    for key, why in answer.refused.items():
        st.caption(f"{plain(catalogue.method(key).title)}: {plain(why)}")


def _on_request(what: str) -> None:
    if what == "need":
        address.put(need=True)


def rows_of(answer: WordAnswer) -> list[ReadingRow]:
    """Return a row of each explainer that has scores."""
    rows = []
    for key in in_order(list(answer.attributions)):
        plugin, one = catalogue.method(key), answer.attributions[key]
        about = first_sentence(catalogue.docstring(plugin))
        rows.append(ReadingRow(key, plugin.title, one.signed, one.scores, one.head_name, about))
    return rows


def named(text: str, documents: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the answer of each document, "" for none, and memory's, from answers with / between them.

    Each is that of the first document which contains it, and has none yet; one that stands in no document is memory's.
    Raises ValueError, with a sentence, where more than one would be.
    """
    return assigned(text.split("/"), documents)


def assigned(named_answers: Sequence[str], documents: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the same for answers one by one; a word of its own may hold a /."""
    answers, memory = [""] * len(documents), list[str]()
    for answer in dict.fromkeys(filter(None, map(str.strip, named_answers))):
        free = (index for index, document in enumerate(documents) if not answers[index] and _stands_in(answer, document))
        if (number := next(free, None)) is None:
            memory.append(answer)
        else:
            answers[number] = answer
    if len(memory) > 1:
        raise ValueError(f"{' and '.join(memory)} stand in no document of their own: one of them at most can be memory's.")
    return (tuple(answers) if any(answers) else ()), "".join(memory)


def _stands_in(answer: str, document: str) -> bool:
    return bool(assemble((document,), (answer,), "?").answers[0])


def as_text(answers: tuple[str, ...], memory: str) -> str:
    """Return what `named` was given."""
    return " / ".join(filter(None, (*answers, memory)))
