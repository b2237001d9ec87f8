"""One prompt of these results and what four explainers say about it: the first thing that a newcomer sees."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from heval_core import catalogue
from heval_core.figures import overview
from heval_core.figures.cards import card
from heval_core.figures.overview import Told
from heval_core.figures.palette import in_order
from heval_core.groups import MEMORY
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.stored import PromptDocument, StoredInstance
from heval_core.ui import instance_links, soft_links
from heval_core.ui.names import controls_of, titles_of
from heval_core.ui.published_results import prompt_now, query
from heval_core.ui.reading import Row
from heval_core.wording import counted

MOST = 4
STYLE = Path(__file__).parent / "components" / "overview.css"


def draw(results: Reader, chosen: Filter, ranking: Sequence[str]) -> None:
    """ranking: the methods, best first."""
    keys = shown(explainers_with_patterns(results), ranking)
    found = query(results, Reader.telling_instance, chosen, tuple(keys), keys[0] if keys else "")
    if found is None:
        st.info("No instance is left under these filters; remove one of the chips above.", icon=":material/filter_alt_off:")
        return
    instance, attributions = results.instance(found), results.attributions(found)
    controls, titles = controls_of(results), titles_of(results)
    keys = [key for key in keys if key in attributions] or shown([k for k in attributions if k not in controls], ranking)
    rows = [Row(key, titles.get(key, key), attributions[key].signed, attributions[key].scores) for key in keys]
    asked = instance_links.parameters(chosen) | {"instance": found}
    cards = [(card(instance, row), soft_links.href("instances", asked | {"painted": row.explainer})) for row in rows]
    title = f"One prompt, {counted(len(rows), 'explanation')}"
    st.html(overview.prompt(title, sentences(instance), cards))


def meanwhile() -> None:
    """While the results are being published: one prompt straight from the batch job's files."""
    now = prompt_now()
    if now is None:
        return
    instance, attributions = now
    known = catalogue.variants(attributions)
    keys = in_order([key for key in attributions if key in known])[:MOST]
    rows = [Row(key, known[key].title, attributions[key].signed, attributions[key].scores) for key in keys]
    title = f"One prompt, {counted(len(rows), 'explanation')}"
    st.html(STYLE)
    st.html(overview.prompt(title, sentences(instance), [(card(instance, row), "") for row in rows]))


def explainers_with_patterns(results: Reader) -> list[str]:
    """The methods whose first choices are known."""
    there = dict.fromkeys(value.rpartition(": ")[0] for value in query(results, Reader.best_tokens))
    return [key for key in there if key not in controls_of(results)]


def shown(there: Sequence[str], ranking: Sequence[str]) -> list[str]:
    """The methods that get a card, best first: the best one and the first others in the catalogue's order."""
    place = {key: number for number, key in enumerate(ranking)}
    best_first = sorted(in_order(list(there)), key=lambda key: place.get(key, len(place)))
    others = [key for key in in_order(list(there)) if key not in best_first[:1]]
    kept = {*best_first[:1], *others[: MOST - 1]}
    return [key for key in best_first if key in kept]


def sentences(instance: StoredInstance) -> Told:
    """What the prompt is about, and where its answer came from."""
    documents = [document for document in instance.documents if document.answer]
    answers = "its answer" if len(documents) == 1 else f"the {counted(len(documents), 'answer')}"
    key = f"Tint: how strongly it points; frame: its first choice; dotted: {answers}."
    used = instance.used_document
    if used is None:
        why = "from memory" if instance.group == MEMORY else "which is no document’s answer"
        return Told("The model answers", instance.predicted_text.strip(), f", {why}.", key)
    believed = _believed(instance.documents, used)
    after = f", {believed}. A good highlight must find that word."
    return Told(f"{_opening(documents)} The model answers", instance.predicted_text.strip(), after, key)


def _opening(documents: Sequence[PromptDocument]) -> str:
    off_topic = any(document.kind == "irrelevant" for document in documents)
    if len(documents) == 1:
        return "One document, about another subject." if off_topic else "One document."
    if off_topic:
        return f"{counted(len(documents), 'document').capitalize()}, not all about the question."
    differ = len({document.answer for document in documents}) > 1
    return f"{counted(len(documents), 'document').capitalize()} {'disagree' if differ else 'agree'}."


def _believed(documents: Sequence[PromptDocument], used: int) -> str:
    """Where the answer came from, by the documents' sources where they have some."""
    sources = [document.source.replace("_", " ") for document in documents if document.source]
    if len(documents) == len(sources) == 2 and sources[0] != sources[1]:
        return f"believing the {sources[used]} and not the {sources[1 - used]}"
    return "as the document says" if len(documents) == 1 else f"as document {used + 1} says"
