"""Explainers of one's own beside the others: tried, computed on the same instances, and published into a store of their own.

What another store holds of these instances is taken from there, so that only one's own explainers are run. An instance is the
same if model and its revision, data, settings, regime and question are: then its id is. Shards of another limit hold other
questions and have other keys, so their rows are taken, not their files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from heval_core import catalogue
from heval_core.evaluation.publishing import publish
from heval_core.lm.loading import identify, load
from heval_core.lm.needs import require
from heval_core.protocols import Method
from heval_core.records import HEvalError
from heval_core.store.filters import Filter
from heval_core.store.kinds import ATTRIBUTION, INSTANCE, MEMORY
from heval_core.store.lock import only_writer
from heval_core.store.shards import Entry, ShardStore
from precompute.compute import JobTask
from precompute.costs import MEASURED
from precompute.grid import MEMORIES, Grid
from precompute.highlights import Highlights
from precompute.memory import memory_tasks
from precompute.own_file import OwnFile, added, try_out
from precompute.pair import Pair, asked_as, settings_of, with_fits
from precompute.plan import Plan
from precompute.questions import open_dataset
from precompute.run import run
from precompute.schedule import parts_of
from precompute.task import Row, Shard, entries_like, unfinished

Say = Callable[[str], None]
WHOSE = ("model", "revision", "dataset", "fingerprint", "settings", "regime", "technique", "kind", "explainer")
KINDS = (INSTANCE.name, ATTRIBUTION.name, *MEASURED)


@dataclass
class Lender:
    """Another store. taken: how many shards were made of its rows."""

    source: ShardStore
    taken: int = 0
    entries: list[Entry] = field(init=False)

    def __post_init__(self) -> None:
        self.entries = [entry for entry in self.source.entries().values() if not entry.failed]

    def explainers(self, models: Mapping[str, str], datasets: Iterable[str]) -> tuple[str, ...]:
        """Keys of the installed methods that have scores of models (key ▶ revision) on datasets, in their order."""
        wanted = set(datasets)
        stored = {
            entry.explainer
            for entry in self.entries
            if entry.kind == ATTRIBUTION.name and models.get(entry.model) == entry.revision and entry.dataset in wanted
        }
        known = catalogue.explainers()
        return tuple(
            sorted(
                (key for key in stored if key.split("(")[0] in known), key=lambda key: (known[key.split("(")[0]].order, key)
            )
        )

    def whole(self, models: Mapping[str, str], explainers: Iterable[str]) -> set[tuple[str, str]]:
        """(dataset, regime) in which there are scores of all models (key ▶ revision) by all explainers; no technique."""
        stored = {
            (entry.dataset, entry.regime, entry.model, entry.explainer)
            for entry in self.entries
            if entry.kind == ATTRIBUTION.name and models.get(entry.model) == entry.revision and entry.technique == "regular"
        }
        pairs = [(model, explainer) for model in models for explainer in explainers]
        return {where[:2] for where in stored if all((*where[:2], *pair) in stored for pair in pairs)}

    def lend(self, part: Highlights) -> None:
        """Write the missing shards of a pair whose rows are all there."""
        self._lend_memory(part)
        for task in unfinished(part.jobs(), part.store):
            style, facts = part.pair.model.identity.style, part.questions.facts
            ids = {task.instance_id(style, facts[place].id): place for place in task.places}
            explained = self._explained(part.pair, task, ids)
            if explained is None:
                continue
            for shard in (own for own in task.shards if own.kind in KINDS and not _of_own_code(own)):
                rows = self._rows(part.pair, shard, ids)
                if {row["instance_id"] for row in rows} >= (ids.keys() if shard.kind == INSTANCE.name else explained):
                    self._write(part.store, shard, rows)

    def _lend_memory(self, part: Highlights) -> None:
        """Memory shards do not tell their settings, so a store without others of the pair's settings lends none."""
        tasks = unfinished(memory_tasks(part.pair), part.store)
        whose = part.pair.shard(MEMORY.name, "", settings=part.pair.settings)
        if not any(entries_like(whose, self.entries, ("model", "dataset", "settings"))):
            return
        rows: dict[str, Row] = {}
        for entry in entries_like(whose, self.entries, ("kind", "model", "revision", "dataset", "fingerprint")):
            if self.source.intact(entry):
                rows |= {row["question"]: row for row in self.source.read(entry).to_pylist()}
        for task in tasks:
            if all(question in rows for question in task.asked):
                self._write(part.store, task.shards[0], [rows[asked] for asked in task.asked])

    def _write(self, store: ShardStore, shard: Shard, rows: list[Row]) -> None:
        store.write(asdict(shard), rows)
        self.taken += 1

    def _explained(self, pair: Pair, task: JobTask, ids: Mapping[str, int]) -> set[str] | None:
        """The task's instances that were not dropped; None where the source does not have all of the task's instances."""
        first = task.every[0]
        answered = self._rows(pair, first, ids) if first.kind == INSTANCE.name else []
        if {row["instance_id"] for row in answered} != ids.keys():
            return None
        return {row["instance_id"] for row in answered if row["dropped_because"] is None}

    def _rows(self, pair: Pair, shard: Shard, ids: Mapping[str, int]) -> list[Row]:
        """The source's rows for a shard, in the order of the questions; those of other settings of the explainer left out."""
        settings = _settings(pair, shard)
        found = [
            row
            for entry in entries_like(shard, self.entries, WHOSE)
            if entry.start < shard.stop and shard.start < entry.stop and self.source.intact(entry)
            for row in self.source.read(entry).to_pylist()
            if row["instance_id"] in ids and row.get("settings") == settings
        ]
        return sorted(found, key=lambda row: ids[row["instance_id"]])


def _settings(pair: Pair, shard: Shard) -> str | None:
    """The column `settings` of a shard's rows; None where its kind has none."""
    if shard.kind in MEASURED:
        return repr(MEASURED[shard.kind])
    if shard.kind == INSTANCE.name:
        return None
    explainer = catalogue.find("explainer", shard.explainer)
    return f"{explainer!r}{pair.fit_of(explainer)}"


def _of_own_code(shard: Shard) -> bool:
    """Whether an explainer from outside the package made it: rows do not tell by which version of its file."""
    explainer = catalogue.find("explainer", shard.explainer) if shard.explainer else None
    return explainer is not None and catalogue.identity("explainer", explainer) != repr(explainer)


@dataclass(frozen=True)
class Beside:
    """What became of it. explainers: keys of one's own that stand on the board. shown: the instances they were run on.
    failed: how many files, models or shards failed; each was named."""

    explainers: tuple[str, ...]
    shown: Filter
    published: Path
    failed: int


@contextmanager
def beside(grid: Grid, names: Sequence[str], folder: Path, source: Path, say: Say) -> Iterator[Beside]:
    """Run explainers from files (`OwnFile.read`) on a grid, beside those that `source` has of its models and datasets.

    grid: its explainers are computed too; without any, those that the source has. What counts as memory is what does in the
    source. say: is told of each that fails; the others go on. While the context lasts, the explainers are offered like those
    of the package. Raises HEvalError for a wrong grid, and where no explainer is left.
    """
    grid.check()
    with ExitStack() as offered:
        own = _offered(names, offered, say)
        tried = _tried(grid, own, say)
        standing = [one for one in own if one[1].key in tried]
        if not standing:
            raise HEvalError("No explainer is left to set on the board; each was refused above.")
        keys = tuple(explainer.key for _, explainer in standing)
        lender = Lender(ShardStore(source))
        grid = _remembering_as(grid, lender)
        others = grid.explainers or _others(grid, lender)
        # One shard holds all of a regime's questions, so that a board of another limit shares none with this one.
        asked = dataclasses.replace(
            grid, explainers=(*others, *keys), own=tuple(file for file, _ in standing), shard_size=grid.limit or 200
        )
        asked = with_fits(asked, source)
        store = ShardStore(folder)
        store.create()
        with only_writer(folder):
            _prepare(asked, store, lender, keys)
        say(f"{lender.taken} shards taken from {source}; running {', '.join(keys)} …")
        outcome = run(asked, folder)
        if outcome.interrupted:
            raise KeyboardInterrupt
        shown = Filter(model=_models(asked), dataset=_datasets(asked), regime=asked.regimes)
        failed = outcome.failed + bool(outcome.stopped) + len(names) - len(keys)
        yield Beside(keys, shown, publish(folder), failed)


def where_all_stand(grid: Grid, source: Path) -> Grid:
    """The grid, on those of its datasets and regimes in which `source` has all of the others; unchanged if there are none.

    Elsewhere the others would have to be computed first, which takes many times as long as one's own explainer.
    """
    lender = Lender(ShardStore(source))
    identities = [identify(name) for name in grid.models]
    others = grid.explainers or _others(grid, lender)
    whole = lender.whole({one.key: one.revision for one in identities}, others)
    keys = dict(zip(grid.datasets, _datasets(grid), strict=True))
    datasets = tuple(name for name in grid.datasets if any((keys[name], regime) in whole for regime in grid.regimes))
    regimes = tuple(regime for regime in grid.regimes if all((keys[name], regime) in whole for name in datasets))
    return dataclasses.replace(grid, datasets=datasets, regimes=regimes) if datasets and regimes else grid


def _offered(names: Sequence[str], offered: ExitStack, say: Say) -> list[tuple[OwnFile, Method]]:
    """The explainers of the files that can be offered."""
    found = []
    for name in names:
        try:
            file = OwnFile.read(name)
            (explainer,) = offered.enter_context(added((file,)))
        except HEvalError as error:
            say(f"error: {error}")
        else:
            found.append((file, explainer))
    return found


def _tried(grid: Grid, own: Sequence[tuple[OwnFile, Method]], say: Say) -> set[str]:
    """The explainers that pass the trial on every model that can be loaded; `run` names the models that cannot."""
    good = {explainer.key for _, explainer in own}
    for name in grid.models if own else ():
        try:
            lm = load(name, grid.device, grid.dtype, grid.batch_tokens)
        except HEvalError:
            continue
        for file, explainer in own:
            if explainer.key in good:
                try:
                    require(lm, explainer.needs)
                    try_out(lm, explainer)
                except HEvalError as error:
                    say(f"error: {file} {error} (tried on {lm.key})")
                    good.discard(explainer.key)
    return good


def _models(grid: Grid) -> tuple[str, ...]:
    return tuple(identify(name).key for name in grid.models)


def _datasets(grid: Grid) -> tuple[str, ...]:
    """As their results name them: a dataset may be asked for by a path."""
    return tuple(open_dataset(name).key for name in grid.datasets)


def _others(grid: Grid, lender: Lender) -> tuple[str, ...]:
    identities = [identify(name) for name in grid.models]
    return lender.explainers({one.key: one.revision for one in identities}, _datasets(grid))


def _remembering_as(grid: Grid, lender: Lender) -> Grid:
    """The grid with the memory rule of the lender's instances, so that they are the same; unchanged if it has none."""
    stored = {(entry.model, entry.settings) for entry in lender.entries}
    models = [asked_as(grid, identify(name)) for name in grid.models]
    for ruled in (dataclasses.replace(grid, memory=rule) for rule in MEMORIES):
        if any((model.key, settings_of(ruled, model)) in stored for model in models):
            return ruled
    return grid


def _prepare(grid: Grid, store: ShardStore, lender: Lender, own: Sequence[str]) -> None:
    """Take what the lender has, and remove what is of another limit, or of an older version of one's own files."""
    planned, ranges = set[str](), set[tuple[str, str, int, int]]()
    for part in parts_of(grid, store, Plan()):  # what cannot be read or had, the run says
        assert isinstance(part, Highlights)
        shards = list(part.shards())
        lender.lend(part)
        planned |= {shard.key for shard in shards}
        ranges |= {(shard.model, shard.dataset, shard.start, shard.stop) for shard in shards}
    asked = {place[:2] for place in ranges}
    for entry in store.entries().values():
        where = entry.model, entry.dataset
        of_other_limit = entry.regime and where in asked and (*where, entry.start, entry.stop) not in ranges
        if entry.key not in planned and (of_other_limit or entry.explainer in own):
            (store.folder / entry.path).unlink()
    _note_origin(store, lender)


def _note_origin(store: ShardStore, lender: Lender) -> None:
    """The runs and models that the taken rows come from."""
    for kind in ("run", "model"):
        known: list[dict[str, Any]] = store.journal(kind)
        store.note(kind, *(line for line in lender.source.journal(kind) if line not in known))
