"""`board`: explainers and controls by question; and explainers of one's own beside them.

These are tried, computed on the same instances, and published into a store of their own. What another store holds of these
instances is taken from there, so that only one's own explainers are run. An instance is the same if model and its revision,
data, settings, regime and question are: then its id is. Shards of another limit hold other questions and have other keys, so
their rows are taken, not their files.
"""

import argparse
import dataclasses
import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.making import board
from heval_core.evaluation.board.records import Board
from heval_core.evaluation.publishing import publish
from heval_core.figures.board import harder_table, main_table
from heval_core.folders import BUNDLED, data_folder, program, short
from heval_core.lm.loading import identify, load
from heval_core.lm.needs import require
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Method
from heval_core.records import EVERY_REGIME, HEvalError
from heval_core.store.filters import Filter
from heval_core.store.kinds import ATTRIBUTION, INSTANCE
from heval_core.store.progress import only_writer
from heval_core.store.published import published_file
from heval_core.store.reader import Reader
from heval_core.store.shards import Shard, ShardStore
from precompute.commands.options import MATCH_HELP, STORE, Commands, Words, add_command, add_fields, given, print_json, refuse
from precompute.compute import JobTask
from precompute.custom_file import CustomFile, added, try_out
from precompute.grid import GRIDS, Grid
from precompute.highlights import Highlights
from precompute.messages import say, say_progress
from precompute.pair import Pair, with_fits
from precompute.plan import RunPlan
from precompute.questions import open_dataset
from precompute.run import parts_of, run
from precompute.task import MEASURED, ShardRow, rows_like, unfinished

OWN_STORE = short(data_folder("board"))
# Where the bundled results have all explainers; and the fewest questions with which every group of answers has the 30
# instances that RQ2 needs.
DEFAULT = dataclasses.replace(
    GRIDS["demo"],
    models=tuple(name for name in GRIDS["demo"].models if Path(name).is_dir()),  # a wheel has one of them
    datasets=("world_capital",),
    regimes=("conflicting", "mixed"),
    explainers=(),
    limit=120,
    match="text",
)
LEGEND = "Of the questions, 0 is chance and 1 the best possible; in brackets 95 % intervals."
IDENTITY = ("model", "revision", "dataset", "fingerprint", "settings", "regime", "technique", "kind", "explainer")
KEYS = (
    "explainers (key, title, control), values (by explainer and column, with their interval, chance and best), quality (the "
    "mean of the questions), beside (the mean without those at which rows are right by construction), costs, conclusion, and "
    "open (what cannot be said)"
)
KINDS = (INSTANCE.name, ATTRIBUTION.name, *MEASURED)


def add(commands: Commands) -> None:
    text = "explainers by question; --explainer sets one of your own beside them"
    parser = add_command(commands, "board", _board, text, keys=KEYS)
    parser.add_argument(
        "--explainer",
        action="append",
        default=[],
        metavar="FILE.py:CLASS",
        help="run the explainer of this file on the same instances as the others; may be given several times. The file is "
        "run as a program: name only files that you trust",
    )
    parser.add_argument(
        "--store", type=Path, help=f"by default {STORE}; with --explainer {OWN_STORE}, where the board is kept"
    )
    group = parser.add_argument_group("with --explainer", argument_default=argparse.SUPPRESS)
    names = ("models", "datasets", "explainers", "limit", "memory", "match", "device", "dtype")
    add_fields(
        group,
        Grid,
        (*names, "faithfulness", "faithfulness_protected"),
        models="by default demo models",
        datasets=f"by default {DEFAULT.datasets[0]}",
        limit=f"questions per dataset, {DEFAULT.limit} by default",
        match=f"{MATCH_HELP}; here the text by default",
        explainers="which others stand beside it, by default all that --beside has; what is there is not computed again",
    )
    group.add_argument(
        "--regimes",
        nargs="+",
        action=Words,
        help=f"some of {', '.join(EVERY_REGIME)}; by default {' and '.join(DEFAULT.regimes)}",
    )
    group.add_argument("--beside", type=Path, help="the store whose results stand beside it; by default the demo results")


def _board(options: argparse.Namespace) -> int:
    if not options.explainer:
        refuse(options, vars(options).keys() - {"command", "store", "json", "quiet"}, "only with --explainer is anything run.")
        store = options.store or STORE
        _print(published_file(store), Filter(), (), store, options.json)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    store, beside = options.store or OWN_STORE, getattr(options, "beside", BUNDLED["demo"][1])
    if store.resolve() == beside.resolve():
        raise HEvalError(f"--store and --beside are both {store}; results of your own explainer need a store of their own.")
    failed = _beside(dataclasses.replace(DEFAULT, **given(options, Grid)), options.explainer, store, beside, options.json)
    if failed:
        say(f"{failed} failures; see above, and: {program()} status --store {store}")
    return 1 if failed else 0


def _print(published: Path, selection: Filter, keys: tuple[str, ...], store: Path, as_json: bool) -> None:
    """Print the board and what can be said of it. keys: of custom explainers, which come with their file only."""
    result = board(Reader(published), selection)
    if as_json:
        print_json(_json(result))
        return
    for table in (main_table(result), harder_table(result)):
        if table.heads:
            print(table.text(), end="\n\n")
    verdict = conclusion(result)
    print("\n".join((LEGEND, "", verdict.said, *verdict.open, "")))
    for key in keys:
        print(f"{key} is of your own file: elsewhere its results are shown, and it cannot be run.")
    streamlit = shutil.which("streamlit") or ".venv/bin/streamlit"
    print(f"open it: HEVAL_STORE={store} {streamlit} run app.py")


def _json(result: Board) -> dict[str, Any]:
    verdict = conclusion(result)
    frames = {name: getattr(result, name).to_dict("records") for name in ("values", "quality", "beside", "costs")}
    rows = [dataclasses.asdict(row) for row in result.rows]
    return {"explainers": rows} | frames | {"conclusion": verdict.said, "open": verdict.open}


def _beside(grid: Grid, names: Sequence[str], folder: Path, source: Path, as_json: bool) -> int:
    """Run explainers from files (`CustomFile.read`) on a grid, beside those that `source` has of its models and datasets, and
    print the board; how many files, models or shards failed. Each that fails is said; the others go on.

    grid: its explainers are computed too; without any, those that the source has. Raises HEvalError for a wrong grid or none.
    """
    grid.check()
    with ExitStack() as stack:
        accepted = _tried(grid, _offered(names, stack))
        if not accepted:
            raise HEvalError("No explainer is left to set on the board; each was refused above.")
        keys = tuple(explainer.key for _, explainer in accepted)
        models = {identity.key: identity.revision for identity in map(identify, grid.models)}
        # As their results name them: a dataset may be asked for by a path.
        datasets = tuple(open_dataset(name).key for name in grid.datasets)
        lender, store = Lender(ShardStore(source)), ShardStore(folder)
        others = grid.explainers or lender.explainers(models, datasets) or catalogue.default_methods()
        explainers = (*others, *keys)
        # One shard holds all of a regime's questions, so that a board of another limit shares none with this one.
        board_grid = dataclasses.replace(
            grid, explainers=explainers, custom=tuple(file for file, _ in accepted), shard_size=grid.limit or 200
        )
        board_grid = with_fits(board_grid, source)
        store.create()
        with only_writer(folder):
            _prepare(board_grid, store, lender, keys)
        say_progress(f"{lender.taken} shards taken from {source}; running {', '.join(keys)} …")
        outcome = run(board_grid, folder)
        if outcome.interrupted:
            raise KeyboardInterrupt
        _print(
            publish(folder), Filter(model=tuple(models), dataset=datasets, regime=board_grid.regimes), keys, folder, as_json
        )
    return outcome.failed + bool(outcome.stopped) + len(names) - len(keys)


def _offered(names: Sequence[str], stack: ExitStack) -> list[tuple[CustomFile, Method]]:
    """Return the explainers of the files that can be offered, as long as the context lasts."""
    offers = []
    for name in names:
        try:
            file = CustomFile.read(name)
            (explainer,) = stack.enter_context(added((file,)))
        except HEvalError as error:
            say(f"error: {error}")
        else:
            offers.append((file, explainer))
    return offers


def _tried(grid: Grid, offers: list[tuple[CustomFile, Method]]) -> list[tuple[CustomFile, Method]]:
    """Return those that pass the trial on every model that can be loaded; `run` names the models that cannot."""
    for name in grid.models if offers else ():
        try:
            lm = load(name, grid.device, grid.dtype, grid.batch_tokens)
        except HEvalError:
            continue
        for file, explainer in list(offers):
            try:
                require(lm, explainer.needs)
                try_out(lm, explainer)
            except HEvalError as error:
                say(f"error: {file} {error} (tried on {lm.key})")
                offers = [offer for offer in offers if offer[1] is not explainer]
    return offers


class Lender:
    """Another store. taken: how many shards were made of its rows."""

    def __init__(self, source: ShardStore):
        self.source, self.taken = source, 0
        self.entries = [entry for entry in source.entries().values() if not entry.failed]

    def explainers(self, models: Mapping[str, str], datasets: Iterable[str]) -> tuple[str, ...]:
        """Return keys of the installed methods that have scores of models (key ▶ revision) on datasets, in their order."""
        stored = {
            entry.explainer
            for entry in self.entries
            if entry.kind == ATTRIBUTION.name and models.get(entry.model) == entry.revision and entry.dataset in datasets
        }
        orders = {key: method.order for key, method in catalogue.explainers().items()}
        installed = [(orders[key.split("(")[0]], key) for key in stored if key.split("(")[0] in orders]
        return tuple(key for _, key in sorted(installed))

    def lend(self, part: Highlights) -> None:
        """Write the missing shards of a pair whose rows are all there."""
        for task in unfinished(part.jobs(), part.store):
            assert isinstance(task, JobTask)
            style, facts = part.pair.model.identity.style, part.questions.facts
            ids = {task.instance_id(style, facts[index].id): index for index in task.indices}
            first = task.every[0]
            answered = self._rows(part.pair, first, ids) if first.kind == INSTANCE.name else []
            if {row["instance_id"] for row in answered} != ids.keys():
                continue
            explained = {row["instance_id"] for row in answered if row["dropped_because"] is None}
            for shard in (candidate for candidate in task.shards if candidate.kind in KINDS and not _of_own_code(candidate)):
                rows = self._rows(part.pair, shard, ids)
                if {row["instance_id"] for row in rows} >= (ids.keys() if shard.kind == INSTANCE.name else explained):
                    part.store.write(shard, rows)
                    self.taken += 1

    def _rows(self, pair: Pair, shard: Shard, ids: Mapping[str, int]) -> list[ShardRow]:
        """Return the source's rows for a shard, in the order of the questions, without those of other settings."""
        settings = _settings(pair, shard)
        near = [entry for entry in self.entries if entry.start < shard.stop and shard.start < entry.stop]
        rows = rows_like(self.source, shard, near, IDENTITY)
        matching = [row for row in rows if row["instance_id"] in ids and row.get("settings") == settings]
        return sorted(matching, key=lambda row: ids[row["instance_id"]])


def _settings(pair: Pair, shard: Shard) -> str | None:
    """Return the column `settings` of a shard's rows; None where its kind has none."""
    if shard.kind in MEASURED:
        return repr(MEASURED[shard.kind])
    if shard.kind == INSTANCE.name:
        return None
    explainer = catalogue.find("explainer", shard.explainer)
    return f"{explainer!r}{pair.fit_of(explainer)}"


def _of_own_code(shard: Shard) -> bool:
    """Return whether an explainer from outside the package made it: rows do not tell by which version of its file."""
    explainer = catalogue.find("explainer", shard.explainer) if shard.explainer else None
    return explainer is not None and catalogue.identity("explainer", explainer) != repr(explainer)


def _prepare(grid: Grid, store: ShardStore, lender: Lender, own_keys: Sequence[str]) -> None:
    """Take what the lender has, with its runs and models, and remove what is of another limit or older file."""
    planned, ranges = set[str](), set[tuple[str, str, int, int]]()
    for part in parts_of(grid, store, RunPlan()):  # what cannot be read or had, the run says
        assert isinstance(part, Highlights)
        shards = list(part.shards())
        lender.lend(part)
        planned |= {shard.key for shard in shards}
        ranges |= {(shard.model, shard.dataset, shard.start, shard.stop) for shard in shards}
    pairs = {planned_range[:2] for planned_range in ranges}
    for entry in store.entries().values():
        pair = entry.model, entry.dataset
        of_other_limit = entry.regime and pair in pairs and (*pair, entry.start, entry.stop) not in ranges
        if entry.key not in planned and (of_other_limit or entry.explainer in own_keys):
            store.remove(entry)
    store.take_plugins(lender.source)
    for kind in ("run", "model"):
        known: list[dict[str, Any]] = store.journal(kind)
        store.note(kind, *(line for line in lender.source.journal(kind) if line not in known))
