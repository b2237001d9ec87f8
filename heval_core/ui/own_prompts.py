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
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from heval_core.figures.answer import DOCUMENT, SCREENED, SENTENCE, Card, answer_drawing, on_card
from heval_core.folders import data_folder
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.records.whole_answers import WholeAnswer, read

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
_SUFFIX = ".json.gz"
_NAME, _ID = re.compile(r"[a-z0-9-]{1,60}"), re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True)
class OwnPrompt:
    """What a form asks for. model: the key of an installed one. answer: given word for word; None where the model writes, at
    most `generate` tokens. template: a layout of `heval_core.prompting.prompts`. dtype: in which the model computes."""

    model: str
    documents: tuple[str, ...]
    question: str
    explainers: tuple[str, ...]
    template: str
    generate: Annotated[int, Field(ge=1, le=400)] = 60
    answer: str | None = None
    dtype: Literal["float32", "bfloat16"] = "float32"

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    @property
    def id(self) -> str:
        """The same question has the same id everywhere."""
        return hashlib.sha256(SCHEMA.dump_json(self)).hexdigest()[:12]

    def changed(self, document: int, text: str = "") -> OwnPrompt:
        """Return the same, asked with another text as one of its documents, or without it; the answer is written again."""
        changed = (*self.documents[:document], *([text.strip()] if text.strip() else []), *self.documents[document + 1 :])
        return replace(self, documents=changed, answer=None, explainers=())


SCHEMA = TypeAdapter(OwnPrompt)


class SavedAnswer(NamedTuple):
    """title: of an example; empty for one's own."""

    prompt: OwnPrompt
    result: WholeAnswer
    title: str = ""


def gallery() -> Path:
    """Return the folder of one's own answers; `HEVAL_ANSWERS` may name another."""
    return Path(os.environ.get("HEVAL_ANSWERS") or GALLERY)


def keep(prompt: OwnPrompt, result: WholeAnswer) -> str:
    """Keep an answer, but not in place of one that knows more; the oldest of more than MOST_KEPT go. Returns its id."""
    folder, known = gallery(), None
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(HEvalError):
        known = find(prompt.id)
    if known is None or len(known.result.generated.matrix) <= len(result.generated.matrix):
        write(folder / f"{prompt.id}{_SUFFIX}", prompt, result)
    for old in mine()[MOST_KEPT:]:
        remove(old)
    return prompt.id


def write(file: Path, prompt: OwnPrompt, result: WholeAnswer, title: str = "") -> None:
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
    """Remove one's own answer; an example stays."""
    (gallery() / f"{name}{_SUFFIX}").unlink(missing_ok=True)


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
        return SavedAnswer(prompt, read(content["result"]), str(content.get("title", "")))
    except (ValueError, KeyError, OSError, EOFError, zlib.error, RecursionError) as error:
        raise HEvalError(f"The saved answer {name} is broken; press Explain to compute it again.") from error


class Summary(NamedTuple):
    """Of a kept answer: what a list and a price need. seconds: of what runs without a click; None where that was stopped."""

    model: str
    tokens: int
    seconds: float | None
    card: Card


@functools.lru_cache(maxsize=256)
def _summary(name: str, modified: int) -> Summary | None:
    """Read once while the file stays as it is: every draw of the page lists them all. None for what cannot be opened."""
    with suppress(HEvalError):
        if saved := find(name):
            prompt, generated, tokens = saved.prompt, saved.result.generated, len(saved.result.tokens)
            ran = {DOCUMENT, SENTENCE, *at_once(prompt.explainers, tokens)} - set(generated.refused)
            seconds = [scores.seconds for key, scores in generated.matrix.items() if key in ran]
            title, question = (saved.title, prompt.question) if saved.title else (f"{prompt.model}: {prompt.question}", "")
            card = on_card(name, title, question, answer_drawing(saved.result))
            return Summary(prompt.model, tokens, sum(seconds) if len(seconds) == len(ran) else None, card)
    return None


def _summaries(names: Iterable[str]) -> Iterator[Summary]:
    return filter(None, (_summary(name, _modified(_file(name))) for name in names))


def titles() -> dict[str, str]:
    """Return id ▶ title of one's own answers and of the examples; what cannot be opened is left out."""
    return {summary.card.id: summary.card.title for summary in _summaries((*mine(), *examples()))}


def cards() -> list[tuple[str, list[Card]]]:
    """Return (title, cards) of one's own newest answers, and of the examples; what cannot be opened is left out."""
    newest, ready = islice(_summaries(mine()), NEWEST), _summaries(examples())
    lists = (("Kept on this machine", newest), ("Answers that open at once", ready))
    groups = [(title, [summary.card for summary in summaries]) for title, summaries in lists]
    return [(title, cards) for title, cards in groups if cards]


def seconds_of(model: str, tokens: int) -> float | None:
    """Estimate the seconds of what runs without a click from a model's newest answer, else an example; None without."""
    saved = _summaries((*mine(), *examples()))
    return next((one.seconds * tokens / one.tokens for one in saved if one.model == model and one.seconds is not None), None)


def at_once(explainers: Iterable[str], tokens: int) -> list[str]:
    """Return those that run without a click, in their order; feature ablation of the sentences that matter comes last."""
    keys = list(explainers)
    short = [key for key in keys if catalogue.method(key).cost(tokens).tokens <= AT_ONCE * tokens]
    return [*(key for key in short if key != SCREENED), *({SCREENED} & set(keys))]


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
