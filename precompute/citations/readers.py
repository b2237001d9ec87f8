"""What the tasks of the study need to have loaded, and whom an annotator reads with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from heval_core.citations.server import Server
from heval_core.citations.speaker import LocalSpeaker, Remembering, Speaker
from heval_core.citations.writing import SHIPPED, Writer
from heval_core.lm import entailment
from heval_core.lm.loading import Identity, identify, in_template
from heval_core.lm.model import LanguageModel
from heval_core.prompts import CHAT, TEMPLATE
from heval_core.protocols import Annotator
from heval_core.records import HEvalError
from precompute.citations.study import Study
from precompute.pair import dtype_of
from precompute.worker import Loading, Model, NoModel


@dataclass(frozen=True)
class Speaking(Model):
    """A language model in memory, asked for text. A worker that holds it for explainers need not load it again."""

    def ready(self, loaded: LanguageModel) -> Speaker:
        return LocalSpeaker(loaded)


@dataclass(frozen=True)
class Served(NoModel):
    """A language model behind a server. Nothing is loaded for it."""

    url: str = ""
    key: str = ""

    @property
    def name(self) -> str:  # type: ignore[override]  # of no model it is empty
        return f"{self.key} at {self.url}"

    def load(self, loading: Loading) -> Speaker:
        speaker = Server(self.url, self.key)
        return Remembering(speaker, loading.answers) if loading.answers else speaker


@dataclass(frozen=True)
class Entailing(NoModel):
    """An entailment model. name: as it is loaded."""

    name: str = ""
    stays = True

    @property
    def key(self) -> str:  # type: ignore[override]  # of no model it is empty
        return self.name

    def load(self, loading: Loading) -> Any:
        return entailment.load(self.name, loading.device, loading.dtype, loading.batch_tokens)


Reader = NoModel | Model


class Unavailable(Exception):
    """Why an annotator cannot be asked about a writer's explanations."""


def identity_of(reader: Reader, study: Study) -> list[str]:
    """What tells a reader from every other. Raises HEvalError for a model that there is not."""
    if isinstance(reader, Served):
        return ["server", Server(reader.url, reader.key).identity]
    if isinstance(reader, Model):
        return [type(reader).__name__, reader.key, reader.identity.revision, reader.identity.template, dtype_of(study)]
    if isinstance(reader, Entailing):
        found = _identified(reader.name)
        return ["Entailing", found.key, found.revision, dtype_of(study)]
    return []


def key_of(reader: Reader) -> str:
    """What results call a reader's model. Raises HEvalError for one that there is not."""
    return _identified(reader.name).key if isinstance(reader, Entailing) else reader.key


@cache
def _identified(name: str) -> Identity:
    return identify(name)


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
    reads, shipped = annotator.reads, writer.model == SHIPPED
    if reads == "nothing":
        return NoModel()
    reasons = {
        f"{annotator.key} needs an entailment model; name one": reads == "entailment",
        "The writer is asked through a server, where nothing can be looked into; name a model": reads == "model"
        and bool(study.llm)
        and not shipped,
        "The explanations came with the claims, without their writer's model; name one": shipped,
    }
    if not annotator.model and (why := next((why for why, holds in reasons.items() if holds), "")):
        head, opened, options = annotator.key.partition("(")
        raise Unavailable(
            f"{why}: {head}({options.removesuffix(')')},model=MODEL)." if opened else f"{why}: {head}(model=MODEL)."
        )
    name = annotator.model or writer.model
    if reads == "entailment":
        return Entailing(name)
    return _speaking(name, study) if reads == "speaker" else Model(name, _in_own_template(name))
