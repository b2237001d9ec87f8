"""The Overview: what it is about and which results, one prompt with its highlights, and three ways on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from heval_core.evaluation.orders import SORTED_BY
from heval_core.figures import cards
from heval_core.figures.cards import Door, Told, card
from heval_core.figures.palette import in_order
from heval_core.figures.pattern_panels import NEARLY_ALL
from heval_core.figures.questions import standings
from heval_core.groups import MEMORY
from heval_core.metrics import headlines
from heval_core.store.filters import NOT_ANSWER, Filter
from heval_core.store.reader import Reader
from heval_core.stored import PromptDocument, StoredInstance
from heval_core.ui import address, filters, links
from heval_core.ui.exports import link_button
from heval_core.ui.names import names_of
from heval_core.ui.published_results import ASKED, offered, query
from heval_core.ui.reading import Row, answer_of
from heval_core.words import counted

TITLE = "Which highlight explanation can be trusted?"


def draw_head(results: Reader) -> Filter:
    """Title, introduction, badge and chips. Returns what the chips ask for."""
    st.html(STYLE)
    with st.container(key="overview_head", horizontal=True):
        with st.container(key="overview_words"):
            st.title(TITLE)
            st.html(cards.lead())
        with st.container(key="overview_tools"):
            _which_results(results)
            with filters.row():
                chosen = filters.filter_bar(results, ("model", "dataset"), count=False, explained=True)
                link_button(results)
    return chosen


# What the folders of results are called.
_RESULTS = {"own": "Your results", "real": "Real models", "demo": "Models with a taught rule"}


def _which_results(results: Reader) -> None:
    """The switch between results, where there are several, and what the bundled ones are of."""
    there = list(offered())
    if len(there) > 1:
        held = address.value(ASKED) if address.value(ASKED) in there else there[0]
        st.session_state["which_results"] = held

        def change() -> None:  # what the address asked of the others means nothing in these
            address.forget(**{ASKED: st.session_state["which_results"]})

        titles = {"format_func": _RESULTS.get, "label_visibility": "collapsed", "required": True}
        st.segmented_control("Results", there, key="which_results", on_change=change, **titles)
    if results.note:
        with st.container(key="demo_badge", width="content"):
            models = counted(len(query(results, Reader.models)), "model")
            st.popover(f"{models} · what that means", help="Not the paper’s models").markdown(results.note)


def ranking(results: Reader, chosen: Filter) -> list[str]:
    """The methods in order of their means over the three questions, those that ran in few of the cells last: over all results,
    whatever model or dataset is chosen."""
    every, names = Filter(technique=chosen.technique), names_of(results)
    of_tokens = query(results, Reader.cells, every, headlines()["RQ3"].metric, 0).dropna(subset=["value"])
    ran = of_tokens["explainer"].value_counts()
    ranked = [key for key in standings(query(results, Reader.headline, every)).index if key not in names.controls]
    ranked.sort(key=lambda key: ran.get(key, 0) < NEARLY_ALL * ran.max())
    rest = [key for key in in_order(list(names.explainers)) if key not in (*names.controls, *ranked)]
    return ranked or rest


MOST = 4
STYLE = Path(__file__).parent / "components" / "overview.css"


def draw_prompt(results: Reader, chosen: Filter, ranking: Sequence[str]) -> None:
    """ranking: of the methods, see `ranking`."""
    keys = with_cards(explainers_with_patterns(results), ranking)
    found = query(results, Reader.telling_instance, chosen, tuple(keys), keys[0] if keys else "")
    if found is None:
        st.info("No instance is left under these filters; remove one of the chips above.", icon=":material/filter_alt_off:")
        return
    instance, attributions = results.instance(found), results.attributions(found)
    names = names_of(results)
    keys = [key for key in keys if key in attributions] or with_cards(
        [k for k in attributions if k not in names.controls], ranking
    )
    rows = [Row(key, names.title("explainer", key), attributions[key].signed, attributions[key].scores) for key in keys]
    asked = links.parameters(chosen) | {"instance": found}
    shown = [(card(instance, row), links.href("instances", asked | {"painted": row.explainer})) for row in rows]
    title = f"One prompt, {counted(len(rows), 'explanation')}"
    st.html(cards.prompt(title, sentences(instance), shown))


def explainers_with_patterns(results: Reader) -> list[str]:
    """The methods whose first choices are known."""
    there = dict.fromkeys(value.rpartition(": ")[0] for value in query(results, Reader.best_tokens))
    return [key for key in there if key not in names_of(results).controls]


def with_cards(there: Sequence[str], ranking: Sequence[str]) -> list[str]:
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
        return Told("The model answers", answer_of(instance), f", {why}.", key)
    believed = _believed(instance.documents, used)
    after = f", {believed}. A good highlight must find that word."
    return Told(f"{_opening(documents)} The model answers", answer_of(instance), after, key)


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


# The explainer whose mistakes are shown where it is not the best one; else those of the worst.
_SUSPECT = "mechlight"


def draw_doors(results: Reader, chosen: Filter, ranking: Sequence[str]) -> None:
    """ranking: of the methods, see `ranking`."""
    doors = [_wrong(results, chosen, ranking), _own_prompt(), _compare(results, chosen, ranking)]
    st.html(cards.doors(doors))


def pair(ranking: Sequence[str]) -> tuple[str, str] | None:
    """The best method, and one that is often wrong where the best is right."""
    if len(ranking) < 2:
        return None
    return ranking[0], _SUSPECT if _SUSPECT in ranking[1:] else ranking[-1]


def _wrong(results: Reader, chosen: Filter, ranking: Sequence[str]) -> Door:
    both, names = pair(ranking), names_of(results)
    if both is not None:
        right, wrong = both
        asked = replace(chosen, best=(f"{right}: answer", f"{wrong}: {NOT_ANSWER}"))
        count = how_many(results, asked)
        if count:
            sort = headlines()["RQ3"].sort.format(explainer=wrong)
            link = links.parameters(asked, sort if sort in SORTED_BY else "")
            told = f"{names.explainer(right)} puts the answer first and {names.explainer(wrong)} does not"
            about = f"{counted(count, 'instance')} in which {told}"
            return Door("See one go wrong", about[0].upper() + about[1:], links.href("instances", link))
    about = f"{counted(how_many(results, chosen), 'instance')}, one by one, with every explainer’s highlights"
    link = links.parameters(chosen)
    return Door("Look at the instances", about[0].upper() + about[1:], links.href("instances", link))


def _own_prompt() -> Door:
    return Door("Explain your own prompt", "A filled-in example, explained by a model on this machine", "your_prompt")


def _compare(results: Reader, chosen: Filter, ranking: Sequence[str]) -> Door:
    both, names = pair(ranking), names_of(results)
    asked = links.parameters(chosen) | {"tab": ["compare"]}
    named = ""
    if both is not None:
        asked |= {"first": [both[0]], "second": [both[1]]}
        named = f"{names.explainer(both[0])} and {names.explainer(both[1])}: "
    about = f"{named}where they differ, by how much, and on which instances most"
    return Door("Compare two explainers", about[0].upper() + about[1:], links.href("accuracy", asked))


def how_many(results: Reader, chosen: Filter) -> int:
    """The number of kept instances under a filter: of the list that opens."""
    return int(query(results, Reader.ranges, chosen)["instances"].iloc[0])
