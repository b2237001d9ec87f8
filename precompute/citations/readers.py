"""What the tasks of the study need to have loaded, and whom an annotator reads with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from heval_core.citations.local_speaker import LocalSpeaker
from heval_core.citations.remembering import Remembering
from heval_core.citations.server import Server
from heval_core.citations.speaker import Answer, Speaker
from heval_core.citations.writing import SHIPPED, Writer
from heval_core.lm import entailment
from heval_core.lm.loading import Identity, identify, in_template
from heval_core.lm.model import LanguageModel
from heval_core.prompts import CHAT, TEMPLATE
from heval_core.protocols import Annotator
from heval_core.records import HEvalError
from precompute.citations.study import Study
from precompute.models import Loading, Model, NoModel
from precompute.pair import dtype_of


@dataclass(frozen=True)
class Speaking(Model):
    """A language model in memory, asked for text. A worker that holds it for explainers need not load it again."""

    def ready(self, loaded: LanguageModel) -> Speaker:
        return LocalSpeaker(loaded)


@dataclass(frozen=True)
class Served:
    """A language model behind a server. Nothing is loaded for it."""

    url: str
    key: str
    stays = False

    @property
    def name(self) -> str:
        return f"{self.key} at {self.url}"

    def load(self, loading: Loading) -> Speaker:
        speaker = Server(self.url, self.key)
        return Remembering(speaker, loading.answers) if loading.answers else speaker

    def ready(self, loaded: Speaker) -> Speaker:
        return loaded

    def facts(self, loaded: Speaker) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Entailing:
    """An entailment model. name: as it is loaded."""

    name: str
    stays = True

    @property
    def key(self) -> str:
        return self.name

    def load(self, loading: Loading) -> Any:
        return entailment.load(self.name, loading.device, loading.dtype, loading.batch_tokens)

    def ready(self, loaded: Any) -> Any:
        return loaded

    def facts(self, loaded: Any) -> dict[str, Any]:
        return {}


class Watched:
    """A server's speaker that remembers why it gave no answer: what was not answered is asked again by a later run.

    An answer that cannot be read, or says nothing, is none of these. It is stored, and counts.
    """

    def __init__(self, speaker: Speaker):
        self._speaker = speaker
        self._problems: set[str] = set()

    @property
    def key(self) -> str:
        return self._speaker.key

    @property
    def identity(self) -> str:
        return self._speaker.identity

    def answer(self, prompts: Sequence[str], tokens: int) -> list[Answer]:
        answers = self._speaker.answer(prompts, tokens)
        self._problems |= {answer.problem for answer in answers if answer.problem}
        return answers

    def is_to_blame(self, problem: str | None) -> bool:
        return bool(problem) and any(own in str(problem) for own in self._problems)


Reader = NoModel | Model | Served | Entailing


class Unavailable(Exception):
    """Why an annotator cannot be asked about a writer's explanations."""


def identity_of(reader: Reader, study: Study) -> list[str]:
    """What tells a reader from every other. Raises HEvalError for a model that there is not."""
    if isinstance(reader, Served):
        return ["server", Server(reader.url, reader.key).identity]
    if isinstance(reader, Model):
        return [type(reader).__name__, reader.key, reader.identity.revision, reader.identity.template, dtype_of(study)]
    if isinstance(reader, Entailing):
        return ["Entailing", *_revision(reader.name), dtype_of(study)]
    return []


def key_of(reader: Reader) -> str:
    """What results call a reader's model. Raises HEvalError for one that there is not."""
    return _identified(reader.name).key if isinstance(reader, Entailing) else reader.key


@cache
def _identified(name: str) -> Identity:
    return identify(name)


def _revision(name: str) -> tuple[str, str]:
    found = _identified(name)
    return found.key, found.revision


@cache
def _in_own_template(name: str) -> Identity:
    """A model that is asked for text through its chat template is read through it, too; any other reads plain text."""
    try:
        return in_template(_identified(name), CHAT)
    except HEvalError:
        return in_template(_identified(name), TEMPLATE)


def writing_with(writer: Writer, study: Study) -> Reader:
    """What a writer writes with. Raises HEvalError for a model that there is not."""
    if writer.model == SHIPPED:
        return NoModel()
    return _speaking(writer.model, study)


def _speaking(name: str, study: Study) -> Reader:
    return Served(study.llm, name) if study.llm else Speaking(name, _identified(name))


def reading_with(annotator: Annotator, writer: Writer, study: Study) -> Reader:
    """What an annotator reads a writer's explanations with.

    Raises Unavailable where it would read with the writer's own model, and that one cannot be had; HEvalError for a model that
    there is not.
    """
    return _WAYS[annotator.reads](annotator, writer, study)


def _with_nothing(annotator: Annotator, writer: Writer, study: Study) -> Reader:
    return NoModel()


def _with_speaker(annotator: Annotator, writer: Writer, study: Study) -> Reader:
    return _speaking(annotator.model or _own(annotator, writer), study)


def _with_entailment(annotator: Annotator, writer: Writer, study: Study) -> Reader:
    if not annotator.model:
        raise Unavailable(f"{annotator.key} needs an entailment model; name one: {_named(annotator)}.")
    return Entailing(annotator.model)


def _with_model(annotator: Annotator, writer: Writer, study: Study) -> Reader:
    if not annotator.model and study.llm and writer.model != SHIPPED:
        raise Unavailable(
            f"The writer is asked through a server, where nothing can be looked into; name a model: {_named(annotator)}."
        )
    name = annotator.model or _own(annotator, writer)
    return Model(name, _in_own_template(name))


def _own(annotator: Annotator, writer: Writer) -> str:
    if writer.model == SHIPPED:
        raise Unavailable(
            f"The explanations came with the claims, without their writer's model; name one: {_named(annotator)}."
        )
    return writer.model


def _named(annotator: Annotator) -> str:
    """How a model is named to an annotator."""
    head, opened, options = annotator.key.partition("(")
    return f"{head}({options.removesuffix(')')},model=MODEL)" if opened else f"{head}(model=MODEL)"


_WAYS: dict[str, Callable[[Annotator, Writer, Study], Reader]] = {
    "nothing": _with_nothing,
    "speaker": _with_speaker,
    "entailment": _with_entailment,
    "model": _with_model,
}
