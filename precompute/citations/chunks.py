"""The shards of a study: what each depends on, which of them are there, the tasks that make the others, and what these need to
have loaded.

Explanations depend on the fingerprint of the claims, the seed (which draws the sampled passage), the selector, and the
writer with its model's revision and its prompt's text. Answers depend on the shard of their explanations, the annotator with
its options, and its model's revision. So nothing stale is used, and nothing valid is made again.
"""

import dataclasses
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from heval_core.citations.questions import refused
from heval_core.citations.reading import prompt_text
from heval_core.citations.server import Server
from heval_core.citations.speaker import CachedSpeaker, LocalSpeaker, Speaker
from heval_core.citations.writing import SHIPPED, ClaimWriter
from heval_core.evaluation.citations.standing import JOURNAL_KIND, StudyKey
from heval_core.lm import entailment
from heval_core.lm.loading import Identity, identify, in_template
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Annotator
from heval_core.prompting.prompts import CHAT, TEMPLATE
from heval_core.records import HEvalError
from heval_core.store.citation_queries import explanation_of
from heval_core.store.kinds import EXPLANATION, RECOVERY
from heval_core.store.shards import FORMAT, Entry, Shard, ShardStore
from precompute import journal
from precompute.citations.study import REGIME, SIZE, ClaimSource, Study, read_source
from precompute.citations.tasks import ExplainTask, RecoverTask
from precompute.messages import say
from precompute.pair import Problems, dtype_of
from precompute.task import Task, hashed, rows_like, unfinished
from precompute.worker import Loading, Model, NoModel

SAME_COLUMNS = ("kind", "dataset", "model", "technique", "explainer", "settings")


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

    def depends(self, dtype: str) -> list[str]:
        return ["server", Server(self.url, self.key).identity]

    def load(self, loading: Loading) -> Speaker:
        speaker = Server(self.url, self.key)
        return CachedSpeaker(speaker, loading.answers) if loading.answers else speaker


@dataclass(frozen=True)
class Entailing(NoModel):
    """An entailment model. name: as it is loaded. Its key raises HEvalError where there is no such model."""

    name: str = ""
    stays = True

    @property
    def key(self) -> str:  # type: ignore[override]  # of no model it is empty
        return _identified(self.name).key

    def depends(self, dtype: str) -> list[str]:
        return ["Entailing", self.key, _identified(self.name).revision, dtype]

    def load(self, loading: Loading) -> Any:
        return entailment.load(self.name, loading.device, loading.dtype, loading.batch_tokens)


ReadingModel = NoModel | Model
_identified = cache(identify)


class Unavailable(Exception):
    """Why an annotator cannot be asked about a writer's explanations."""


def _in_own_template(name: str) -> Identity:
    """Identify a model as it is read: through its chat template, if it is asked for text through it; else as plain text."""
    try:
        return in_template(_identified(name), CHAT)
    except HEvalError:
        return in_template(_identified(name), TEMPLATE)


def _speaking(name: str, study: Study) -> ReadingModel:
    return Served(study.llm, name) if study.llm else Speaking(name, _identified(name))


def _reading_with(annotator: Annotator, writer: ClaimWriter, study: Study) -> ReadingModel:
    """Choose what an annotator reads a writer's explanations with.

    Raises Unavailable where it would read with the writer's model, which cannot be had; HEvalError for an unknown model.
    """
    reads, shipped = annotator.reads, writer.model == SHIPPED
    if reads == "nothing":
        return NoModel()
    why = ""
    if reads == "entailment":
        why = f"{annotator.key} needs an entailment model; name one"
    elif shipped:
        why = "The explanations came with the claims, without their writer's model; name one"
    elif reads == "model" and study.llm:
        why = "The writer is asked through a server, where nothing can be looked into; name a model"
    if why and not annotator.model:
        prefix = f"{annotator.key.removesuffix(')')}," if annotator.key.endswith(")") else f"{annotator.key}("
        raise Unavailable(f"{why}: {prefix}model=MODEL).")
    name = annotator.model or writer.model
    if reads == "entailment":
        return Entailing(name)
    return _speaking(name, study) if reads == "speaker" else Model(name, _in_own_template(name))


@dataclass(frozen=True)
class AnnotatorReading:
    """An annotator with what it reads with. settings: see `Entry`."""

    key: str
    reader: ReadingModel
    settings: str

    def shard(self, explained: Shard, part: str) -> Shard:
        """Make the shard of its answers to a part of the questions about some explanations."""
        key = hashed([FORMAT, RECOVERY.name, explained.key, part, self.settings])
        return dataclasses.replace(
            explained, kind=RECOVERY.name, key=key, explainer=self.key, revision=self.reader.revision, settings=self.settings
        )


@dataclass(frozen=True)
class Writing:
    """A writer with a selector. settings: see `Entry`. readings: the annotators that can be asked about the explanations.

    unavailable: why others cannot, by key; an HEvalError for those whose model there is not.
    """

    writer: ClaimWriter
    selector: str
    reader: ReadingModel
    settings: str
    readings: tuple[AnnotatorReading, ...]
    unavailable: tuple[tuple[str, Exception], ...]


def writing_of(study: Study, writer: ClaimWriter, selector: str) -> Writing:
    """Plan a writer's explanations. Raises HEvalError for a model of the writer that does not exist."""
    reader = NoModel() if writer.model == SHIPPED else _speaking(writer.model, study)
    prompt = [] if writer.model == SHIPPED else [writer.prompt, prompt_text(writer.prompt)]
    plugin = catalogue.find("selector", selector)
    of_selector = [catalogue.identity("selector", plugin), prompt_text(plugin.prompt) if hasattr(plugin, "prompt") else ""]
    depends = [FORMAT, EXPLANATION.name, writer.key, reader.depends(dtype_of(study)), prompt, of_selector, study.seed]
    readings, unavailable = dict[str, AnnotatorReading](), list[tuple[str, Exception]]()
    for annotator in dict.fromkeys(catalogue.find("annotator", key).key for key in study.annotators):
        try:
            reading = _reading(study, annotator, writer)
        except (Unavailable, HEvalError) as reason:
            unavailable.append((annotator, reason))
        else:
            readings[reading.key] = reading
    return Writing(writer, selector, reader, hashed(depends, 12), tuple(readings.values()), tuple(unavailable))


def _reading(study: Study, key: str, writer: ClaimWriter) -> AnnotatorReading:
    annotator = catalogue.find("annotator", key)
    reader = _reading_with(annotator, writer, study)
    if annotator.model:
        # Its key names its model as results do: a folder by its name, wherever it lies.
        result_key = annotator.key.replace(f"model={annotator.model}", f"model={reader.key}")
        annotator = catalogue.find("annotator", result_key)
    depends = [
        FORMAT,
        RECOVERY.name,
        annotator.key,
        catalogue.identity("annotator", annotator),
        reader.depends(dtype_of(study)),
    ]
    return AnnotatorReading(annotator.key, reader, hashed(depends, 12))


def check_names(source: ClaimSource, writing: Writing) -> None:
    """Raise HEvalError where what a writer writes could not be told from what came with the claims."""
    shipped = {explanation.writer for claim in source.claims for explanation in claim.written}
    if writing.writer.model != SHIPPED and writing.selector == SHIPPED and writing.writer.key in shipped:
        raise HEvalError(
            f"{source.dataset} came with explanations by {writing.writer.key!r}, and this writer is asked for others from the "
            "same passages; nobody could tell them apart. Give the writer another name in the data, or take other --selectors."
        )


class Citations:
    """What is left to do about a source of claims, explained by a writer from the passages of a selector: explanations first,
    then the questions about them."""

    questions = None

    def __init__(self, study: Study, store: ShardStore, source: ClaimSource, writing: Writing):
        self.study, self.store, self.source, self.writing = study, store, source, writing
        # Explanations of some claims, with what each annotator is asked about them, once they are known.
        self.tasks = list(self._tasks())
        # Keys of explanations that are there, so that all about them can begin.
        self._explained: set[str] = set()

    def _tasks(self) -> Iterator[tuple[ExplainTask, list[RecoverTask]]]:
        source, writing, study = self.source, self.writing, self.study
        ordered, size = source.ordered(study.seed)[: study.limit], study.shard_size or SIZE
        data = source.dataset, source.fingerprint, writing.settings
        state = writing.writer.key, writing.reader.revision, *data, REGIME, writing.selector
        for start in range(0, len(ordered), size):
            claims = tuple(ordered[start : start + size])
            key = hashed([FORMAT, EXPLANATION.name, *data, [claim.id for claim in claims]])
            shard = Shard(EXPLANATION.name, key, *state, start=start, stop=start + len(claims))
            about = []
            for reading in writing.readings:
                parts = {reading.shard(shard, part): part for part in study.parts}
                about.append(RecoverTask(reading.reader, tuple(parts), (), parts))
            yield ExplainTask(writing.reader, (shard,), writing.writer, claims, study.seed), about

    def shards(self) -> Iterator[Shard]:
        return (shard for explain, about in self.tasks for task in (explain, *about) for shard in task.shards)

    def ready(self, tried: Collection[str]) -> list[Task]:
        """List explanations that are missing, and questions about those that have come since; in the order of the claims."""
        entries, tasks = self.store.entries(), list[Task]()
        missing = {task.keys for task in unfinished((explain for explain, _ in self.tasks), self.store, tried)}
        for explain, about in self.tasks:
            (key,) = explain.keys
            if explain.keys in missing:
                tasks.append(explain)
            elif key in entries and key not in self._explained:
                self._explained.add(key)
                tasks += self._about(explain, about, entries)
        return tasks

    def equipped(self, task: Task) -> Task:
        """Give a task the explanations of the same claims that exist, whichever shards they are in."""
        if not isinstance(task, ExplainTask):
            return task
        claim_ids = {claim.id for claim in task.claims}
        rows = rows_like(self.store, task.shards[0], self.store.entries().values(), (*SAME_COLUMNS, "fingerprint"))
        known = {row["explanation_id"]: row for row in rows if row["claim_id"] in claim_ids}
        return dataclasses.replace(task, stored=tuple(known.values()))

    def _about(self, explain: ExplainTask, about: list[RecoverTask], entries: dict[str, Entry]) -> Iterator[RecoverTask]:
        """Yield what is left to ask about explanations, which are there. entries: of the store."""
        # Claims go without what others have written about them.
        claims = {claim.id: dataclasses.replace(claim, written=()) for claim in explain.claims}
        explanations = tuple(
            explanation_of(row, claims[row["claim_id"]])
            for row in self.store.read(entries[explain.keys[0]]).to_pylist()
            if row["unavailable"] is None
        )
        for unknowing in about:
            task, left = dataclasses.replace(unknowing, explanations=explanations), list[Shard]()
            like = rows_like(self.store, task.shards[0], entries.values(), SAME_COLUMNS)
            rows = {(row["explanation_id"], row["passage"]): row for row in like}
            wanted = task.wanted
            for shard in task.shards:
                questions, entry = {question for question, key in wanted.items() if key == shard.key}, entries.get(shard.key)
                if entry is None or entry.failed or entry.rows != len(questions) or not questions <= rows.keys():
                    left.append(shard)
            if left:
                stored = tuple(rows[question] for question in wanted if question in rows)
                yield dataclasses.replace(task, shards=tuple(left), stored=stored)

    def note(self, noted: set[str]) -> int:
        """Note the claims, and what is asked for, which stands from now on: publishing takes the newest."""
        source, writing, malformed = self.source, self.writing, 0
        if source.dataset not in noted:
            noted.add(source.dataset)
            journal.note_bad(self.store, source.dataset, source.bad)
            for text in journal.malformed(source.bad):
                say(text)
            entry, malformed = self.store.entries().get(source.shard.key), len(source.bad)
            if entry is None or not self.store.intact(entry):
                self.store.write(source.shard, source.rows())
            self._note_asked(StudyKey(source.dataset, "", "", ""), source.shard.key)
        study_key = StudyKey(source.dataset, writing.writer.key, writing.selector, "")
        self._note_asked(study_key, writing.settings)
        if writing.writer.model == SHIPPED:
            reasons = [(claim.id, why) for claim in source.claims for one in claim.written if (why := refused(one.text))]
            for claim_id, why in reasons[: journal.REPORTED_BAD]:
                say(f"{source.dataset} · {claim_id}: {why} The explanation was left out")
        for reading in writing.readings:
            self._note_asked(study_key._replace(annotator=reading.key), reading.settings)
        for annotator, reason in writing.unavailable:
            self._note_asked(study_key._replace(annotator=annotator), "", str(reason))
            say(f"{writing.writer.key} · {source.dataset} · {annotator}: {reason}")
        return malformed

    def _note_asked(self, study_key: StudyKey, settings: str, unavailable: str = "") -> None:
        more = {"fingerprint": self.source.fingerprint, "settings": settings, "unavailable": unavailable}
        journal.note_new(self.store, JOURNAL_KIND, study_key._asdict() | more, StudyKey._fields)

    def note_end(self) -> None:
        """Do nothing: all is known before."""


def citations_of(study: Study, store: ShardStore, problems: Problems) -> list[Citations]:
    """List the parts of a study. A source that cannot be read, and a model that does not exist, cost only themselves.

    Raises HEvalError where two writers would have one name.
    """
    sources, writings = list[ClaimSource](), list[Writing]()
    for name in study.claims:
        try:
            sources.append(read_source(name))
        except HEvalError as error:
            problems.failed(error, dataset=name)
    for writer, selector in study.pairs():
        try:
            writings.append(writing_of(study, writer, selector))
        except HEvalError as error:
            problems.failed(error, model=writer.key, at_loading=True)
    for annotator, reason in {key: why for writing in writings for key, why in writing.unavailable}.items():
        if isinstance(reason, HEvalError):
            problems.failed(reason, model=annotator, at_loading=True)
    pairs = [(source, writing) for writing in writings for source in sources]
    for pair in pairs:
        check_names(*pair)
    return [Citations(study, store, *pair) for pair in pairs]
