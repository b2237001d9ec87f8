"""Instance ▶ prompt text with character spans. The only place where prompt text is put together.

A template is the name of a layout, or a text of one's own with the fields `{documents}` and `{question}`:
  plain     `{documents} Q: {question} A:`, the paper's
  cloze     `{documents} {question}`: the model goes on with the question
  examples  four solved examples, then documents, question and `Answer:`; where the question is a cloze, four solved clozes
  chat      documents and question are what a user says, in the tokenizer's own chat template (`heval_core.lm.chat`)
  begun     `chat`, and the assistant's turn has begun: `The answer is:`, or with the question where it is a cloze
  auto      `examples`: with them most answers of two real models can be compared, one of them a chat model; what explainers
            say of these answers had no part in the choice
`chat: TEXT` is `chat` with another beginning of the assistant's turn. Examples and beginnings are never ranked.
"""

import re
import unicodedata
from dataclasses import dataclass

from heval_core.records import HEvalError, Instance, Prompt, Span
from heval_core.records.regime_keys import read_key

TEMPLATE = "{documents} Q: {question} A:"
# What a user says in a chat.
TURN = "{documents}\n\n{question}"
AUTO, CHAT, BEGUN = "auto", "chat", "begun"


@dataclass(frozen=True)
class Layout:
    """How a prompt is written. text: with its two fields. lead: what stands before all else, and is never ranked.

    chat: whether the text is what a user says. beginning: of the assistant's turn then; `{question}` is the question.
    """

    text: str = TEMPLATE
    lead: str = ""
    chat: bool = False
    beginning: str = ""


# Their contents are none of the data's relations. Both documents contradict what everybody knows, and are followed; two have
# none. Of the orders and numbers of examples that were tried, this had the most answers that can be compared.
_QUESTION_FIRST = "{documents}\nQuestion: {question}\nAnswer:"
_SOLVED = """The favourite fruit of the monkey is the lemon.
Question: What is the favourite fruit of the monkey?
Answer: Lemon

The colour of the sky is green.
Question: What is the colour of the sky?
Answer: Green

Question: How many legs does a spider have?
Answer: Eight

Question: How many days are in a week?
Answer: Seven

"""
_SOLVED_CLOZES = """The favourite fruit of the monkey is the lemon. The favourite fruit of the monkey is the lemon.
The colour of the sky is green. The colour of the sky is green.
The number of legs of a spider is eight.
The number of days in a week is seven.
"""
_CLOZE = "{documents} {question}"
_EXAMPLES = Layout(_QUESTION_FIRST, lead=_SOLVED), Layout(_CLOZE, lead=_SOLVED_CLOZES)
# Name ▶ the layout of a question, and of a cloze.
LAYOUTS = {
    AUTO: _EXAMPLES,
    "plain": (Layout(), Layout()),
    "cloze": (Layout(_CLOZE), Layout(_CLOZE)),
    "examples": _EXAMPLES,
    CHAT: (Layout(TURN, chat=True), Layout(TURN, chat=True)),
    BEGUN: (Layout(TURN, chat=True, beginning="The answer is:"), Layout(TURN, chat=True, beginning="{question}")),
}


def is_cloze(question: str) -> bool:
    """Return whether a question is a sentence to be completed: it does not end as a question does.

    >>> is_cloze("What is the capital of Kenya?"), is_cloze("The capital of Kenya is")
    (False, True)
    """
    return question.rstrip(" \"'”’»")[-1:] not in ("?", "？", "؟", ";")


def layout_of(template: str, question: str) -> Layout:
    """Return the layout of a template for a question. Raises HEvalError for one that lacks a field."""
    if template in LAYOUTS:
        return LAYOUTS[template][is_cloze(question)]
    if template.startswith(f"{CHAT}:"):
        return Layout(TURN, chat=True, beginning=template.partition(":")[2].strip())
    if sorted(re.findall(r"\{(?:documents|question)\}", template)) != ["{documents}", "{question}"]:
        raise HEvalError(
            f"The template {template!r} needs the fields {{documents}} and {{question}}, once each; or write one of: "
            f"{', '.join(LAYOUTS)}, {CHAT}: BEGINNING."
        )
    return Layout(template)


def stops_of(template: str, question: str) -> tuple[str, ...]:
    """Return what ends an answer in a layout, beside the end of text: the words before the next question, or the next solved
    example.

    >>> stops_of("plain", "Who?"), stops_of("examples", "Who?"), stops_of("chat", "Who?")
    (('Q:',), ('Question:', '\n\n'), ())
    """
    layout = layout_of(template, question)
    before = re.split(r"\{documents\}|\{question\}", layout.text)[1].strip()
    apart = ("\n\n" if "\n\n" in layout.lead else "\n") if layout.lead else ""
    return tuple(stop for stop in (before if re.search(r"\w", before) else "", apart) if stop)


def is_chat(template: str) -> bool:
    """Return whether a template is put into the tokenizer's chat template."""
    return template in (CHAT, BEGUN) or template.startswith(f"{CHAT}:")


def spelled(template: str) -> str:
    """Return a template with all of its words, so that keys of results change with them."""
    if template in (CHAT, "plain"):
        return CHAT if template == CHAT else TEMPLATE
    return repr(LAYOUTS[template]) if template in LAYOUTS else template


# Scripts written without spaces between words: their letters show no word boundary, so none is required.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# Joiners, and the skin tones that follow an emoji: a character next to one is part of a longer sign.
_ATTACHED = re.compile("[\u200c\u200d\U0001f3fb-\U0001f3ff]")


def _in_word(char: str) -> bool:
    """Return whether a neighbour makes a mention part of a longer word: letters, digits, and marks that combine with them."""
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M" or bool(_ATTACHED.match(char))


def is_punctuation(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] == "P" or category == "Sk"


def says_nothing(text: str) -> bool:
    """Return whether a text is only punctuation and white space, or empty."""
    return all(char.isspace() or is_punctuation(char) for char in text)


# Words that only begin a sentence.
_OPENERS = {"q", "a", "an", "the", "it", "this", "that", "there", "in", "answer"}


def is_fragment(text: str) -> bool:
    """Return whether a text is at most the beginning of an answer: punctuation, or a word that begins a sentence.

    >>> is_fragment(" The"), is_fragment(" Q:"), is_fragment("Oslo")
    (True, True, False)
    """
    return says_nothing(text) or text.strip(" :.,").lower() in _OPENERS


def alike(text: str) -> str:
    """Normalise a text for comparison: its letters composed with their accents (NFC), and with plain apostrophes."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).replace("’", "'").replace("ʼ", "'")


def _offsets(text: str) -> list[int]:
    """Return where each character of the composed text begins in the text, and where it ends."""
    offsets, start = list[int](), 0
    for end in range(1, len(text) + 1):
        letter, more = text[start:end], text[end : end + 1]
        if not more or not (unicodedata.combining(more) or alike(letter + more) != alike(letter) + alike(more)):
            offsets += [start] * len(alike(letter))
            start = end
    return [*offsets, len(text)]


def mentions(answer: str, text: str) -> tuple[Span, ...]:
    """Find every literal, case-sensitive, word-bounded mention of `answer` in `text`, as characters of the text as it is.

    However its accents and apostrophes are stored (`alike`). An answer that begins or ends with a
    letter of a script without spaces (Chinese, Japanese, Thai, …) needs no boundary on that side.
    """
    spans: list[Span] = []
    answer, compared = alike(answer), alike(text)
    offsets = range(len(text) + 1) if unicodedata.is_normalized("NFC", text) else _offsets(text)
    start = compared.find(answer) if answer else -1
    while start >= 0:
        end = start + len(answer)
        free_before = start == 0 or not _in_word(compared[start - 1]) or _UNSPACED.match(answer[0])
        free_after = end == len(compared) or not _in_word(compared[end]) or _UNSPACED.match(answer[-1])
        if free_before and free_after:
            spans.append(Span(offsets[start], offsets[end]))
        start = compared.find(answer, end if free_before and free_after else start + 1)
    return tuple(spans)


def assemble(
    texts: tuple[str, ...],
    answers: tuple[str | None, ...],
    question: str,
    template: str = TEMPLATE,
    padding: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
) -> Prompt:
    """Put documents and question together.

    texts: the documents; empty for the memory check. answers: each document's answer, or None if unknown. template: see above.
    padding: passages before and after the documents, which only make the prompt longer.
    Raises HEvalError for an empty question or document, or a template without its two fields.
    """
    if not question.strip():
        raise HEvalError("The question is empty; write one, such as: What is the capital of Kenya?")
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise HEvalError(f"Document {number} is empty; give it some text, or leave the document out.")
    layout = layout_of(template, question)
    fields = re.split(r"(\{documents\}|\{question\})", layout.text)
    text, passages, question_span, written = layout.lead, list[Span](), Span(0, 0), list[Span]()
    for field in fields:
        if field == "{documents}":
            for index, passage in enumerate((*padding[0], *texts, *padding[1])):
                text += " " if index else ""
                passages.append(Span(len(text), len(text) + len(passage)))
                text += passage
        elif field == "{question}":
            question_span = Span(len(text), len(text) + len(question))
            text += question
        else:
            # Without documents the space that would follow them must go: it would change the first token.
            field = field.lstrip() if text == layout.lead else field
            written.append(Span(len(text), len(text) + len(field)))
            text += field
    before = len(padding[0])
    documents = passages[before : before + len(texts)]
    around = (*passages[:before], *passages[before + len(texts) :])
    spans = tuple(
        tuple(mention.moved(span.start) for mention in mentions(answer or "", document))
        for span, document, answer in zip(documents, texts, answers, strict=True)
    )
    beginning = layout.beginning.replace("{question}", question)
    ranked = Span(len(layout.lead), len(text)) if layout.lead else None
    return Prompt(text, tuple(documents), question_span, spans, layout.chat, ranked, around, beginning, (), tuple(written))


def prompt_of(instance: Instance, template: str = TEMPLATE) -> Prompt:
    """Assemble the prompt of an instance with its documents, and all of its padding."""
    documents = instance.documents
    texts, written = tuple(d.text for d in documents), tuple(d.alias or d.answer for d in documents)
    position = read_key(instance.regime).place if instance.padding else None
    before = {None: 0, "first": 0, "middle": len(instance.padding) // 2, "last": len(instance.padding)}[position]
    around = instance.padding[:before], instance.padding[before:]
    return assemble(texts, written, instance.question, template, around)


def memory_prompt(question: str, template: str = TEMPLATE) -> Prompt:
    """Assemble the prompt that asks the same question without any context."""
    return assemble((), (), question, template)


def instructed(prompt: Prompt, instruction: str) -> Prompt:
    """Put an instruction in front of what is ranked: of all of the prompt's text, but for solved examples."""
    at = prompt.ranked.start if prompt.ranked else 0
    added = f"{instruction} "
    ranked = prompt.ranked and Span(at, prompt.ranked.end + len(added))
    text = prompt.text[:at] + added + prompt.text[at:]
    return prompt.moved(lambda span: span.moved(len(added)), text=text, ranked=ranked)
