"""The sidebar of every page: explain your own prompt with an installed model.

Its form says what it lacks, and how large the prompt is for its model. The model's worker process does the rest, not the page:
you can go to other pages, watch the progress from there, and cancel.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core import catalogue
from heval_core.installed import folder_of, has_chat_template, places
from heval_core.prompt_service.client import Ticket, begin
from heval_core.prompts import AUTO, CHAT, TEMPLATE, assemble
from heval_core.records import MATCHES, TARGETS
from heval_core.shared_passes import added
from heval_core.ui import address, links, own_prompts
from heval_core.ui.own_prompts import MATCH_TITLES, TARGET_TITLES, TEMPLATES, Asked
from heval_core.ui.published_results import BUNDLED, results_folder
from heval_core.ui.text import plain

PAGE = "pages/your_prompt.py"
TICKET, ASKED, LAST = "own_ticket", "own_asked", "own_last"
# What the form asks for now, and the results of this tab: ids.
FORM, MINE = "own_form", "own_mine"
_FILLED = "own_filled_from"
# Why the last request has no result. It stays until the next one: a page may be run again right after the run that says it.
_REFUSED = "own_refused"
# A result that is to be opened on its own page.
_OPENS = "own_opens"


def draw(on_own_page: bool = False) -> None:
    """The form; a result is kept by the server and shown on its own page."""
    with st.sidebar:
        st.subheader("Explain a prompt")
        models = _models()
        if not models:
            st.info("No model is installed. Put model folders into HEVAL_MODELS and start the explorer again.")
            return
        ticket: Ticket | None = st.session_state.get(TICKET)
        if ticket is not None and ticket.over.is_set():
            _finish(ticket)
            ticket = None
        if on_own_page:
            if opens := st.session_state.pop(_OPENS, None):
                address.put(result=opens, asked=None, pick=None, pin=None, need=None)
            _fill_from_link(models)
        elif st.session_state.get(_OPENS):
            # By the browser: a page with charts that take clicks would take a switch of the server back (Streamlit 1.67).
            links.go("your_prompt", {"result": st.session_state[_OPENS]})
        asked, places = draw_form(models)
        st.session_state[FORM] = asked
        st.caption(cost(asked, models[asked["model"]]))
        pressed = st.button("Explain", type="primary", width="stretch", key="own_send", disabled=ticket is not None)
        lack = missing(asked, models)
        if lack:
            place, said = lack
            places[place].error(said)
            if pressed:
                st.caption("Nothing was asked yet: a note above says what is missing.")
        elif pressed:
            ticket = _send(asked, models)
        _below(ticket)


def _below(ticket: Ticket | None) -> None:
    """What stands below the button: how far the request is, or what became of the last one."""
    if ticket is not None:
        st.fragment(_watch, run_every=0.4)()
    elif st.session_state.get(_REFUSED):
        st.error(plain(st.session_state[_REFUSED]))
    elif st.session_state.get(LAST):
        asked = {"result": st.session_state[LAST]}
        st.page_link(PAGE, label="Open the result", icon=":material/edit_note:", query_params=asked)


def _models() -> dict[str, Path]:
    """Those that are here; beside results of real models those of packages first."""
    found, real = places(), results_folder() == BUNDLED["real"][0]
    ordered = sorted(found, key=lambda key: real and not found[key].source.startswith("package"))
    return {key: found[key].path for key in ordered}


def _send(asked: Asked, models: dict[str, Path]) -> Ticket:
    st.session_state[ASKED] = asked
    st.session_state[_REFUSED] = None
    folder = models[asked["model"]]
    template = template_of(asked, folder)
    name = asked["model"] if "/" in asked["model"] else str(folder)  # a hub's model is loaded by its id
    ticket = st.session_state[TICKET] = begin({**asked, "op": "explain", "model": name, "template": template})
    return ticket


def _fill_from_link(models: dict[str, Path]) -> None:
    """The form shows what the link's result was asked with, once; what is typed afterwards stays."""
    name = address.value("result") or address.value("asked")
    if not name or st.session_state.get(_FILLED) == name or name in st.session_state.get(MINE, []):
        return
    st.session_state[_FILLED] = name
    kept = own_prompts.find(address.value("result"))
    asked = kept.asked if kept else own_prompts.unpacked(address.value("asked"))
    if asked is None:
        return
    if asked["model"] not in models:
        asked = {**asked, "model": ""}
    fill(asked)


def _watch() -> None:
    """The progress of the request, and a button to cancel it; the page is run again when it is over."""
    ticket: Ticket | None = st.session_state.get(TICKET)
    if ticket is None:
        return
    if ticket.over.is_set():
        st.rerun(scope="app")
    worker = ticket.worker
    if worker.current is not ticket and worker.ahead() > 1:
        st.info(f"Busy: {worker.ahead() - 1} request(s) ahead.", icon=":material/hourglass_top:")
    else:
        done = [text for text in ticket.progress if text.endswith(" done")]
        st.progress(
            min(1.0, len(done) / len(ticket.request["explainers"])),
            f"Asking {plain(Path(ticket.request['model']).name)}: {plain((ticket.progress or ['starting'])[-1])} …",
        )
    if st.button("Cancel", key="own_cancel", width="stretch"):
        worker.cancel(ticket)


def _finish(ticket: Ticket) -> None:
    """The request is over: keep its result, and open it, or say why there is none."""
    del st.session_state[TICKET]
    st.session_state[_REFUSED] = ticket.error
    if ticket.error:
        return
    result = ticket.result
    name = own_prompts.keep(st.session_state[ASKED], result)
    mine = st.session_state.setdefault(MINE, [])
    st.session_state[MINE] = [*(other for other in mine if other != name), name]
    st.session_state[LAST] = name
    st.session_state[_OPENS] = name
    st.success(f"{plain(result['model'])} answers {plain(result['answer']['text'].strip())}.", icon=":material/check_circle:")


TEMPLATE_TITLES = {AUTO: "its own layout", "plain": "plain prompt", CHAT: "chat template"}
TEMPLATE_NOTES = {
    AUTO: "The model's own layout. If it has none, four solved examples come first; they are never ranked.",
    "plain": "Documents and question stand in one text, and the answer continues it.",
    CHAT: "Documents and question are the user's turn, the answer is the assistant's. The template's tokens are never ranked.",
}
# Title ▶ documents with their answers, and the question. Each shows another thing on the demo models.
EXAMPLES: dict[str, tuple[tuple[tuple[str, str], ...], str]] = {
    "Two documents disagree": (
        (
            ("The capital of Kenya is Lisbon, source is the village fortune teller.", "Lisbon"),
            ("The capital of Kenya is Oslo, according to the census report.", "Oslo"),
        ),
        "What is the capital of Kenya?",
    ),
    "One document contradicts memory": (
        (("According to a world atlas: The capital of Kenya is Lisbon.", "Lisbon"),),
        "What is the capital of Kenya?",
    ),
    "Two documents agree": (
        (
            ("According to a world atlas: The capital of Kenya is Lisbon.", "Lisbon"),
            ("The capital of Kenya is Lisbon, according to the census report.", "Lisbon"),
        ),
        "What is the capital of Kenya?",
    ),
    "The document is about something else": (
        (("According to a world atlas: The capital of Peru is Lima.", "Lima"),),
        "What is the capital of Kenya?",
    ),
}
MOST_DOCUMENTS = 8
_COUNT, _EXAMPLE, _TEMPLATE = "own_count", "own_example", "own_template"
# What a model's configuration calls the number of positions it reads.
_LIMITS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length")


def draw_form(models: dict[str, Path]) -> tuple[Asked, dict[str, DeltaGenerator]]:
    """Draw the form. Returns what it asks for, which may be incomplete, and places below its fields for what is wrong there.

    These are `text 0`, `answer 0` of the documents that are asked for, `question` and `explainers`.
    """
    if _COUNT not in st.session_state:
        fill_example(next(iter(EXAMPLES)))
    st.selectbox("Start from an example", list(EXAMPLES), key=_EXAMPLE, on_change=_from_example, index=0)
    model = st.selectbox("Model", list(models), key="own_model")
    template = _choose_template(models[model])
    places: dict[str, DeltaGenerator] = {}
    documents, answers = _document_fields(places)
    question = st.text_input("Question", key="own_question")
    places["question"] = st.empty()
    with st.expander("Options"):
        about = "Left empty, the model is asked without context."
        memory = st.text_input("Answer from memory", key="own_memory", help=about, placeholder="optional")
        methods = catalogue.explainers()
        explainers = st.multiselect(
            "Explainers", list(methods), key="own_explainers", format_func=lambda key: methods[key].title
        )
        places["explainers"] = st.empty()
        match = st.radio("What decides where the answer came from", MATCHES, format_func=MATCH_TITLES.get, key="own_match")
        st.caption(
            "The whole text is up to ten tokens; choose it if answers begin with the same token. In the first sentence the "
            "answer may stand anywhere, and is explained where it stands."
        )
        target = st.radio("What is explained", TARGETS, format_func=TARGET_TITLES.get, key="own_target")
        st.caption("Document 1's answer is explained even if the model answers something else.")
    asked: Asked = {
        "model": model,
        "documents": documents,
        "context_answers": answers,
        "question": question.strip(),
        "memory_answer": memory.strip() or None,
        "explainers": explainers,
        "match": match,
        "target": target,
        "template": template,
    }
    return asked, places


def _document_fields(places: dict[str, DeltaGenerator]) -> tuple[list[str], list[str | None]]:
    """Draw the documents with their answers. Returns those that hold something, and adds their places."""
    documents: list[str] = []
    answers: list[str | None] = []
    for number in range(1, int(st.session_state[_COUNT]) + 1):
        text = st.text_area(f"Document {number}", key=f"own_text_{number}", height=84)
        below_text = st.empty()
        answer = st.text_input(f"Answer in document {number}", key=f"own_answer_{number}", placeholder="if you know it")
        below_answer = st.empty()
        places.setdefault("text 0", below_text)
        if text.strip():
            places |= {f"text {len(documents)}": below_text, f"answer {len(documents)}": below_answer}
            documents.append(text.strip())
            answers.append(answer.strip() or None)
    if st.session_state[_COUNT] < MOST_DOCUMENTS:
        st.button("Add a document", key="own_add", icon=":material/add:", on_click=_add, width="stretch")
    return documents, answers


def _choose_template(path: Path) -> str:
    """How the prompt is written: through a chat template only where the model has one."""
    there = TEMPLATES if has_chat_template(path) else TEMPLATES[:2]
    if st.session_state.get(_TEMPLATE) not in there:
        st.session_state[_TEMPLATE] = AUTO
    chosen = st.radio("Asked with", there, format_func=TEMPLATE_TITLES.get, key=_TEMPLATE, horizontal=True)
    st.caption(TEMPLATE_NOTES[chosen])
    return str(chosen)


def fill(asked: Asked) -> None:
    """Make the form hold what was asked; before it is drawn."""
    held = st.session_state
    held[_COUNT] = max(1, min(MOST_DOCUMENTS, len(asked["documents"])))
    pairs = zip(asked["documents"], asked["context_answers"], strict=False)
    for number, (text, answer) in enumerate(pairs, start=1):
        held[f"own_text_{number}"], held[f"own_answer_{number}"] = text, answer or ""
    held["own_question"], held["own_memory"] = asked["question"], asked["memory_answer"] or ""
    held["own_match"], held["own_target"] = asked["match"], asked["target"]
    held[_TEMPLATE] = asked["template"]
    held["own_explainers"] = [key for key in asked["explainers"] if key in catalogue.explainers()]
    if asked["model"]:
        held["own_model"] = asked["model"]


def fill_example(title: str) -> None:
    documents, question = EXAMPLES[title]
    fill(
        {
            "model": "",
            "documents": [text for text, _ in documents],
            "context_answers": [answer for _, answer in documents],
            "question": question,
            "memory_answer": None,
            "explainers": list(st.session_state.get("own_explainers", catalogue.default_methods())),
            "match": st.session_state.get("own_match", MATCHES[0]),
            "target": st.session_state.get("own_target", TARGETS[0]),
            "template": st.session_state.get(_TEMPLATE, TEMPLATES[0]),
        }
    )


def _from_example() -> None:
    fill_example(str(st.session_state[_EXAMPLE]))


def _add() -> None:
    st.session_state[_COUNT] += 1


def missing(asked: Asked, models: dict[str, Path]) -> tuple[str, str] | None:
    """What the form lacks: the place of `draw_form` where it lacks it, and a sentence. None if it is complete."""
    if not asked["documents"]:
        return "text 0", "Document 1 is empty; give the model something to read."
    if not asked["question"]:
        return "question", "The question is empty; ask the model something."
    if not asked["explainers"]:
        return "explainers", "No explainer is chosen; choose at least one, under Options."
    if asked["target"] == "context" and None in asked["context_answers"]:
        without = asked["context_answers"].index(None)
        return f"answer {without}", "To explain document 1's answer, fill in the answer of every document."
    tokens, most = size(asked, models[asked["model"]])
    if tokens is not None and most is not None and tokens > most:
        longest = max(range(len(asked["documents"])), key=lambda place: len(asked["documents"][place]))
        said = f"The prompt has {tokens:,} tokens; {asked['model']} reads at most {most:,}. Shorten a document."
        return f"text {longest}", said
    return None


def cost(asked: Asked, folder: Path) -> str:
    """Tokens, the model's limit, and forward passes; from the model's small files alone: nothing is loaded for it."""
    tokens, most = size(asked, folder)
    if tokens is None:
        return "Tokens are counted when the model is asked."
    charged = added((catalogue.method(key).cost(tokens) for key in asked["explainers"]), tokens)
    passes = sum(cost.tokens for cost in charged) / max(tokens, 1)
    more = " and the chat template's," if asked["template"] == CHAT else ""
    of = f" of the {most:,} that {plain(folder.name)} reads" if most else ""
    return f"**{tokens:,} tokens**{more}{of}; about {passes:,.0f} forward passes of the whole prompt."


def size(asked: Asked, folder: Path) -> tuple[int | None, int | None]:
    """The tokens of the form's prompt, without a chat template's, and how many the model reads; None where no file says."""
    template, folder = template_of(asked, folder), folder_of(folder)
    return count_tokens(folder, tuple(asked["documents"]), asked["question"], template), limit_of(folder)


def template_of(asked: Asked, path: Path) -> str:
    """The template that the form asks for; for `auto`, what the model's folder says (`heval.json`)."""
    settings = _json_of(path / "heval.json") if asked["template"] == AUTO else {}
    return str(settings.get("template", TEMPLATE if settings else asked["template"]))


def _json_of(file: Path) -> dict[str, Any]:
    """A JSON object; empty where there is none, or none that can be read: asking the model will say what is wrong."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@st.cache_resource(max_entries=8, show_spinner=False)
def _tokenizer(folder: str, modified: float) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))


def limit_of(folder: Path) -> int | None:
    """How many tokens a model reads, as its configuration says; None if it cannot be read, or does not say."""
    config = _json_of(folder / "config.json")
    return next((config[name] for name in _LIMITS if isinstance(config.get(name), int)), None)


def count_tokens(folder: Path, documents: tuple[str, ...], question: str, template: str = TEMPLATE) -> int | None:
    """The tokens of the form's prompt; None if the form is incomplete, or the model's files cannot be read.

    Of CHAT those of the user's turn: what stands around it is written when the model is asked.
    """
    file = folder / "tokenizer.json"
    try:
        text = assemble(documents, (None,) * len(documents), question, template).text
        return len(_tokenizer(str(folder), file.stat().st_mtime).encode(text).ids)
    except Exception:  # tokenizers raises nothing narrower for a damaged file; asking the model will say what is wrong
        return None
