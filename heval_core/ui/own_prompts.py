"""Prompts of one's own: what is asked, as a link carries it, and the gallery of answers that are kept.

An answer is a file of its own, written whole and replaced; so it outlives the server, and opens without its model. Some come
with the program, as examples. A link to send also carries what was asked, so that it can be computed again elsewhere.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from heval_core.figures.answer import DOCUMENT, SCREENED, SENTENCE, Card, answer_drawing, on_card
from heval_core.folders import data_folder
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import AUTO
from heval_core.records import HEvalError
from heval_core.records.whole_answers import WholeAnswer, read
from heval_core.records.word_answers import WordAnswer, read_word

# Where answers are kept: git-ignored; and those that come with the program.
GALLERY, EXAMPLES = data_folder("answers"), data_folder("examples", bundled=True)
# Of a file. One of a newer version is refused, not guessed at.
VERSION = 1
MOST_KEPT = 64
# An explainer of more passes waits for a click.
AT_ONCE = 30
# Of one's own, with a card.
NEWEST = 3
# A link's request and a kept file are not read beyond this many characters.
LONGEST, LARGEST = 400_000, 30_000_000
_SUFFIX, _REMOVED = ".json.gz", ".removed"
_NAME, _ID = re.compile(r"[a-z0-9-]{1,60}"), re.compile(r"[0-9a-f]{12}")


Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class OwnPrompt:
    """What a form asks for. model: the key of an installed one. answer: given word for word; None where the model writes, at
    most `generate` tokens. template: a layout of `heval_core.prompting.prompts`. dtype: in which the model computes.

    mode: `word` explains one token alone, with the answers between which it is decided: the documents', "" where one has none,
    and memory's. target, begun: as in `WordRequest`.
    """

    model: str
    documents: tuple[str, ...]
    question: str
    explainers: tuple[str, ...]
    template: str
    generate: Annotated[int, Field(ge=1, le=400)] = 60
    answer: str | None = None
    dtype: Precision = "float32"
    mode: Literal["whole", "word"] = "whole"
    answers: tuple[str, ...] = ()
    memory: str = ""
    target: Literal["answer", "context"] = "answer"
    begun: tuple[int, ...] = ()

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    @property
    def id(self) -> str:
        """The same question has the same id everywhere, whatever explains its answer."""
        return hashlib.sha256(SCHEMA.dump_json(replace(self, explainers=()))).hexdigest()[:12]

    def changed(self, document: int | None, text: str = "") -> OwnPrompt:
        """Return the same, asked with another text as one of its documents, or without it, or, of no document, with another
        question; the answer is written again."""
        if document is None:
            return replace(self, question=text, answer=None, explainers=())
        changed = (*self.documents[:document], *([text.strip()] if text.strip() else []), *self.documents[document + 1 :])
        return replace(self, documents=changed, answer=None, explainers=())


SCHEMA = TypeAdapter(OwnPrompt)


class SavedAnswer(NamedTuple):
    """title: of an example; empty for one's own."""

    prompt: OwnPrompt
    result: WholeAnswer | WordAnswer
    title: str = ""


def gallery() -> Path:
    """Return the folder of one's own answers; `HEVAL_ANSWERS` may name another."""
    return Path(os.environ.get("HEVAL_ANSWERS") or GALLERY)


def keep(prompt: OwnPrompt, result: WholeAnswer | WordAnswer) -> str:
    """Keep an answer, with what had been kept of the same one; the oldest of more than MOST_KEPT go. Returns its id."""
    folder, known = gallery(), None
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(HEvalError):
        known = find(prompt.id)
    if known is None or isinstance(result, WordAnswer) or isinstance(known.result, WordAnswer):
        pass
    elif known.result.generated.token_ids == result.generated.token_ids:
        explainers = tuple(dict.fromkeys((*prompt.explainers, *known.prompt.explainers)))
        prompt, result = replace(prompt, explainers=explainers), joined(known.result, result)
    elif not result.generated.stopped:  # of half an answer nothing is new
        return prompt.id
    write(folder / f"{prompt.id}{_SUFFIX}", prompt, result)
    for old in mine()[MOST_KEPT:]:
        (folder / f"{old}{_SUFFIX}").unlink(missing_ok=True)
    return prompt.id


def joined(one: WholeAnswer, other: WholeAnswer) -> WholeAnswer:
    """Return the same answer with what explainers said of it either time: of one that both asked, the second time."""
    *_, knows_more = sorted((one, other), key=lambda answer: (_has_citations(answer), len(answer.generated.matrix)))
    both, generated = (one.generated, other.generated), knows_more.generated
    matrix = {key: scores for answer in both for key, scores in answer.matrix.items()}
    contrasts = {contrast.start: contrast for answer in both for contrast in answer.contrasts}
    refused = {key: why for answer in both for key, why in answer.refused.items() if key not in matrix}
    more = replace(generated, matrix=matrix, contrasts=tuple(contrasts.values()), refused=refused)
    return replace(knows_more, generated=more)


def _has_citations(answer: WholeAnswer) -> bool:
    return any(sentence.citations is not None for sentence in answer.generated.sentences)


def write(file: Path, prompt: OwnPrompt, result: WholeAnswer | WordAnswer, title: str = "") -> None:
    """Write a whole file, or none. The same answer is the same file."""
    content = {"version": VERSION, "title": title, "asked": asdict(prompt), "result": asdict(result)}
    unfinished = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    unfinished.write_bytes(gzip.compress(json.dumps(content, ensure_ascii=False).encode(), mtime=0))
    unfinished.replace(file)


def mine() -> list[str]:
    """Return the ids of one's own answers, the newest first."""
    files = sorted(gallery().glob(f"*{_SUFFIX}"), key=_modified, reverse=True)
    names = [file.name.removesuffix(_SUFFIX) for file in files if file.is_file()]
    return [name for name in names if _ID.fullmatch(name)]  # others are somebody's own files


def remove(name: str) -> None:
    """Remove one's own answer, of which `put_back` brings back the last; an example stays."""
    if not (_ID.fullmatch(name) and (file := gallery() / f"{name}{_SUFFIX}").is_file()):
        return
    for older in gallery().glob(f"*{_REMOVED}"):
        older.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        file.rename(gallery() / f"{name}{_REMOVED}")


def put_back(name: str) -> None:
    """Bring back an answer that was removed, unless it was computed again since."""
    if not _ID.fullmatch(name) or (gallery() / f"{name}{_SUFFIX}").exists():
        return
    with suppress(FileNotFoundError):
        (gallery() / f"{name}{_REMOVED}").rename(gallery() / f"{name}{_SUFFIX}")


def _modified(file: Path) -> int:
    """Return when a file was written; 0 for one that another session has removed by now."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def examples() -> list[str]:
    """Return the ids of the answers that come with the program, in their order."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in EXAMPLES.glob(f"*{_SUFFIX}"))


def _file(name: str) -> Path:
    """Return where an answer is kept: one's own, else an example."""
    file = gallery() / f"{name}{_SUFFIX}"
    return file if file.is_file() else EXAMPLES / file.name


def find(name: str) -> SavedAnswer | None:
    """Return a kept answer; None for one that was never here, or had to make room.

    Raises HEvalError for a file that is broken, too large, or of a newer version; it is anybody's, and nothing of it is run.
    """
    if not (_NAME.fullmatch(name) and _file(name).is_file()):
        return None
    try:
        with gzip.open(_file(name)) as packed_file:
            text = packed_file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise HEvalError(f"The saved answer {name} is larger than {LARGEST // 1_000_000} MB; it is not opened.")
        content = json.loads(text, parse_constant=int)  # which refuses NaN and Infinity
        if not isinstance(content, dict) or not isinstance(content.get("version"), int):
            raise ValueError("it has no version")
        if content["version"] > VERSION:
            raise HEvalError(f"The saved answer {name} is of a newer HEval; update this one to open it.")
        prompt = SCHEMA.validate_json(json.dumps(content["asked"]))
        result = read_word(content["result"]) if prompt.mode == "word" else read(content["result"])
        return SavedAnswer(prompt, result, str(content.get("title", "")))
    except (ValueError, KeyError, OSError, EOFError, zlib.error, RecursionError) as error:
        raise HEvalError(f"The saved answer {name} is broken; press Explain to compute it again.") from error


class Summary(NamedTuple):
    """Of a kept answer: what a list and a price need. said: how it begins. seconds: of what runs without a click; None where
    that was stopped. card: None of a single word."""

    model: str
    question: str
    said: str
    tokens: int
    seconds: float | None
    card: Card | None


@functools.lru_cache(maxsize=256)
def _summary(name: str, modified: int) -> Summary | None:
    """Read once while the file stays as it is: every draw of the page lists them all. None for what cannot be opened."""
    with suppress(HEvalError):
        if saved := find(name):
            return _summary_of(name, saved)
    return None


def _summary_of(name: str, saved: SavedAnswer) -> Summary:
    prompt, result = saved.prompt, saved.result
    if isinstance(result, WordAnswer):
        return Summary(prompt.model, prompt.question, result.target_text.strip(), len(result.instance.tokens), None, None)
    generated, tokens = result.generated, len(result.tokens)
    ran = {DOCUMENT, *at_once(prompt.explainers, tokens), *({SENTENCE} & set(generated.matrix))} - set(generated.refused)
    seconds = [scores.seconds for key, scores in generated.matrix.items() if key in ran]
    title, question = (saved.title, prompt.question) if saved.title else (prompt.question, prompt.model)
    card = on_card(name, title, question, answer_drawing(result))
    beginning = "".join(word.text for word in card.words).strip() + (" …" if card.cut else "")
    known = sum(seconds) if len(seconds) == len(ran) else None
    return Summary(prompt.model, prompt.question, beginning, tokens, known, card)


def _summaries(names: Iterable[str]) -> Iterator[Summary]:
    return filter(None, (_summary(name, _modified(_file(name))) for name in names))


class AnswerLine(NamedTuple):
    """A line in the list of answers. said: how it begins. day: when it was kept; empty for an example. whole: not one word."""

    id: str
    asked: str
    said: str
    model: str
    day: str
    whole: bool


def answer_lines() -> list[AnswerLine]:
    """Return one's own answers, the newest first, then the examples; what cannot be opened is left out."""
    names, lines = mine(), list[AnswerLine]()
    for name in (*names, *examples()):
        changed = _modified(_file(name))
        if (one := _summary(name, changed)) is not None:
            day = f"{datetime.fromtimestamp(changed / 1e9):%d %b %H:%M}" if name in names else ""
            lines.append(AnswerLine(name, one.question, one.said, one.model, day, one.card is not None))
    return lines


def cards() -> list[tuple[str, list[Card]]]:
    """Return (title, cards) of one's own newest answers, and of the examples; what cannot be opened is left out."""
    newest, ready = ([one.card for one in _summaries(names) if one.card] for names in (mine(), examples()))
    groups = (("Kept on this machine", newest[:NEWEST]), ("Answers that open at once", ready))
    return [(title, cards) for title, cards in groups if cards]


def seconds_of(model: str, tokens: int) -> float | None:
    """Estimate the seconds of what runs without a click from a model's newest answer, else an example; None without."""
    saved = _summaries((*mine(), *examples()))
    return next((one.seconds * tokens / one.tokens for one in saved if one.model == model and one.seconds is not None), None)


def at_once(explainers: Iterable[str], tokens: int) -> list[str]:
    """Return those that run without a click, in their order."""
    dear = [key for key in explainers if catalogue.method(key).cost(tokens).tokens > AT_ONCE * tokens]
    return [key for key in explainers if key not in (*dear, SCREENED)]


def target_of(prompt: OwnPrompt) -> str:
    """Return what is explained. "The answer is one of" these; but an answer that has begun goes on as it would."""
    named = prompt.target == "answer" and (prompt.answers or prompt.memory) and not prompt.begun
    return "named" if named else prompt.target


def as_code(prompt: OwnPrompt) -> str:
    """Return what asks the same in Python. The model's own layout is that of a call which names none."""
    if prompt.begun:
        return "# explain() begins with an answer's first word; this is a later one."
    how: dict[str, object] = {"question": prompt.question, "context": list(prompt.documents)}
    if prompt.mode == "word":
        named = {"context_answer": [one or None for one in prompt.answers], "memory_answer": prompt.memory}
        how |= {name: value for name, value in named.items() if value} | {"target": target_of(prompt)}
    else:
        how |= {"answer": prompt.answer} if prompt.answer else {"generate": prompt.generate}
    how |= {"explainers": ",".join(prompt.explainers), "dtype": prompt.dtype}
    how |= {} if prompt.template == AUTO else {"template": prompt.template}
    function = "explain" if prompt.mode == "word" else "explain_answer"
    lines = [f"    {prompt.model!r},", *(f"    {name}={value!r}," for name, value in how.items())]
    exact = [key for key in prompt.explainers if prompt.dtype != "float32" and "float32" in catalogue.method(key).needs]
    note = [f"# The page computes {', '.join(exact)} in float32; here they need dtype='float32'."] if exact else []
    return "\n".join([f"from heval_core import {function}", "", *note, f"result = {function}(", *lines, ")", ""])


def packed(prompt: OwnPrompt) -> str:
    """Return a request as a parameter of a link."""
    return base64.urlsafe_b64encode(zlib.compress(SCHEMA.dump_json(prompt), 9)).decode().rstrip("=")


def unpacked(text: str) -> OwnPrompt | None:
    """Return the request in a link; None if there is none in it. A link is anybody's text: types are checked."""
    try:
        raw = zlib.decompressobj().decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), LONGEST)
        return SCHEMA.validate_json(raw)
    except (ValueError, zlib.error, ValidationError):
        return None
